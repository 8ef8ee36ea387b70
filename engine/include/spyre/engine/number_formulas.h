// spyre/engine/number_formulas.h — numbers that a call of a compiled kernel computes on the host, from numbers.
//
// An optimizer's corrections follow from its count of steps. Recorded, they would be operations of the card for each
// parameter; here they are computed once for all that have the same count, with the bits that the card would give.
#pragma once
#include <c10/core/Scalar.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "spyre/base/dtype.h"
#include "spyre/base/ids.h"
#include "spyre/kernels/kernel.h"

namespace spyre::engine {

/// Operations on numbers alone. Types: float32, float64, int64 and bool.
struct NumberFormula {
  /// What comes from outside, converted to `type`.
  struct Leaf {
    enum class Kind : std::uint8_t { Constant, Host, Call };
    Kind kind{};
    DType type{};
    std::uint32_t place = 0;  // Host: of the argument; Call: of the number
    c10::Scalar number;       // Constant
  };
  struct Step {
    OpId op{};
    DType compute{}, result{};
    std::vector<std::uint32_t> inputs;  // leaves are numbered first, then steps
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Leaf> leaves;
  std::vector<Step> steps;  // the last one gives the value
};

/// The formulas of one kernel. Formulas that differ in their leaves' values alone share code, and are computed again
/// only if those differ. Guarded by the kernel's mutex.
class NumberFormulas {
 public:
  /// Raises InvalidArgument for indices that lead nowhere, of `arguments` (true: on the device) and `numbers`, and for other types.
  NumberFormulas(std::span<const NumberFormula> formulas, const std::vector<bool>& arguments,
                 std::size_t numbers);

  /// The values, by formula, for what a call brings along. Valid until the next call.
  std::span<const c10::Scalar> values(std::span<const c10::Scalar> on_host,
                                      std::span<const c10::Scalar> numbers,
                                      kernels::Numerics numerics);

 private:
  struct Code {
    std::vector<DType> leaves;
    std::vector<NumberFormula::Step> steps;
    std::shared_ptr<const kernels::Kernel> kernel = nullptr;  // for the numerics of the last call
    std::vector<std::uint64_t> given = {};                    // the leaves of the last call
    c10::Scalar value = {};
  };
  struct Use {
    std::size_t code = 0;
    std::vector<NumberFormula::Leaf> leaves;
  };

  std::size_t code_of(const NumberFormula& formula);

  std::vector<Code> codes_;
  std::vector<Use> uses_;
  std::vector<std::uint64_t> leaves_;  // of the formula at hand
  std::vector<c10::Scalar> values_;
};

}  // namespace spyre::engine
