// spyre/kernels/slabs.h — a range of work items as rectangles of the two inner dimensions.
#pragma once
#include <cstdint>
#include <functional>

#include "call_frame.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// Calls `run` with a frame for each rectangle that items [first, last) cover; the frame's pointers are rewritten
/// for each. `slots` and faults are the caller's.
void for_each_slab(const KernelSpec& spec, const LaunchArguments& launch, std::int64_t first,
                   std::int64_t last, CallFrame& frame, CompiledFunction run);

}  // namespace spyre::kernels
