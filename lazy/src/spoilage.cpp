// spyre/lazy/spoilage.cpp — one walk over the steps.
#include "spoilage.h"

#include <algorithm>

namespace spyre::lazy {

void spread_spoilage(std::span<const LaunchStep> steps, std::size_t first,
                     std::span<const std::uint64_t> bytes, std::vector<bool>& spoiled,
                     std::span<std::uint8_t> skip) {
  for (std::size_t s = first; s < steps.size(); ++s) {
    const auto reads_spoiled = [&](const Touch& t) { return !t.write && spoiled[t.buffer]; };
    skip[s] = std::ranges::any_of(steps[s].touches, reads_spoiled) ? 1 : 0;
    for (const Touch& t : steps[s].touches) {
      if (!t.write) continue;
      if (skip[s] != 0) spoiled[t.buffer] = true;
      else if (t.fills(bytes[t.buffer])) spoiled[t.buffer] = false;
    }
  }
}

}  // namespace spyre::lazy
