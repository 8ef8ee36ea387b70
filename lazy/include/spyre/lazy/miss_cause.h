// spyre/lazy/miss_cause.h — why a trace had no plan. Every miss has exactly one cause, and each is
// counted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spyre::lazy {

enum class MissCause : std::uint8_t {
  NewProgram,   // no known trace has these operations
  NewShapes,    // known operations with other sizes, strides, offsets or types
  NewBuffers,   // other buffers are observable, have memory, or have other sizes
  NewSettings,  // execution, instruction set or passes differ
  Forgotten,    // the plan was there, and was evicted or dropped
};

inline constexpr std::size_t kMissCauseCount = static_cast<std::size_t>(MissCause::Forgotten) + 1;
std::string_view name_of(MissCause cause);  // snake_case, as in stats()

}  // namespace spyre::lazy
