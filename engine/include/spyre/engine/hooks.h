// spyre/engine/hooks.h — PyTorch's questions to an accelerator: is it there, its generators, its pinned memory.
#pragma once
#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace spyre::engine {

/// Never destroyed: PyTorch keeps the pointer for the life of the process.
at::PrivateUse1HooksInterface& hooks();

}  // namespace spyre::engine
