// python/csrc/hooks/dormant.h — PyTorch's view of the device while nobody has used it.
#pragma once
#include "awake.h"

namespace spyre::python {

Awake& awake();
/// Imports torch_spyre._C, which fills awake(). Takes the GIL.
const Awake& wake();

/// Register hooks, guard and allocator that wake the device when a question needs it.
void register_dormant_device();
/// The same for torch.profiler, which asks when somebody profiles the device.
void register_dormant_profiler();

}  // namespace spyre::python
