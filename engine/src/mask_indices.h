// spyre/engine/src/mask_indices.h — an index that is a mask selects the places of its ones.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace spyre::engine {

/// Replaces the masks in the list of indices, argument 1 of `op`, by the coordinates of their ones; the call waits to hear
/// how many there are. False, and nothing is changed, for masks that do not fit and for bytes as masks: CPU has words of
/// its own for those.
bool indices_for_masks(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace spyre::engine
