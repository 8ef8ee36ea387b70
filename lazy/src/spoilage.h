// spyre/lazy/spoilage.h — which buffers a failed step spoils, and which later steps must not run.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/lazy/launch_plan.h"

namespace spyre::lazy {

/// A step that reads spoiled bytes is called off and spoils what it writes; a step that writes a
/// whole buffer without reading spoiled bytes makes it good again. Sets `skip` for steps from
/// `first` on; `spoiled` (per buffer) becomes the state after the last step. `bytes` are the
/// buffers' sizes.
void spread_spoilage(std::span<const LaunchStep> steps, std::size_t first,
                     std::span<const std::uint64_t> bytes, std::vector<bool>& spoiled,
                     std::span<std::uint8_t> skip);

}  // namespace spyre::lazy
