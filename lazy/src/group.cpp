// spyre/lazy/group.cpp — see group.h.
#include "spyre/lazy/group.h"

#include <array>

namespace spyre::lazy {

std::string_view reason_of(Refusal refusal) {
  constexpr std::array<std::string_view, 10> kReasons{
      "no other node was a candidate",
      "a library call runs by itself",
      "the iteration spaces have no common refinement",
      "it touches the same bytes at other points of the loop",
      "a group in between must run first",
      "the loop nest has no place for it",
      "the kernel would have too many steps or arguments",
      "few long rows would leave cores idle",
      "a row would not fit the scratchpad",
      "a fault of one would lose the other",
  };
  return kReasons[static_cast<std::size_t>(refusal)];
}

}  // namespace spyre::lazy
