// spyre/engine/number_rule.h — what CPU refuses of a number's value, once types and shapes are known.
#pragma once
#include <c10/core/Scalar.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spyre/base/dtype.h"

namespace spyre::engine {

/// A condition on one number among a call's arguments. It follows from the call's types and shapes, and holds or
/// not by the value, which is why it is checked at every call. A value.
struct NumberRule {
  enum class Condition : std::uint8_t { Representable, NotZero };
  std::size_t argument = 0;
  Condition condition{};
  DType type{};  // that the number is converted to

  /// Raises CPU's error.
  void check(const c10::Scalar& number) const;
};

using NumberRules = std::vector<NumberRule>;

}  // namespace spyre::engine
