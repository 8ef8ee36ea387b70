// spyre/lazy/scratchpad_plan.h — what stays in a core's scratchpad, and where.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spyre/base/bytes.h"

namespace spyre::lazy {

/// A buffer that could stay in the scratchpad: how much of it one core holds, and the steps from
/// its first writer to its last reader.
struct ScratchpadTenant {
  Bytes bytes;
  std::uint32_t first = 0, last = 0;
  bool in_place = false;  // its writer may write over what dies at that step
};

struct ScratchpadPlan {
  std::vector<std::optional<std::uint64_t>> offsets;  // by tenant; none: stays in device memory
  Bytes used;                                         // at most, at any step
};

/// Tenants come in the order of their first steps. One that does not fit beside those that live
/// stays out: nothing is evicted, and nobody moves. Offsets are multiples of 128 bytes.
ScratchpadPlan plan_scratchpad(std::span<const ScratchpadTenant> tenants, Bytes room);

}  // namespace spyre::lazy
