// spyre/engine/backward_thread.h — which thread runs a backward pass.
#pragma once

namespace spyre::engine {

/// Makes the calling thread run the backward passes that it starts, as it does for tensors on CPU, instead of waiting
/// for autograd's thread of the device. False if that can't be kept yet: the end of inference mode would undo it.
bool keep_backward_here() noexcept;

}  // namespace spyre::engine
