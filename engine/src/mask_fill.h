// spyre/engine/mask_fill.h — x[mask] = number, without counting what the mask holds.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace spyre::engine {

/// Serves a call of _index_put_impl_ that writes one value wherever one mask is true, and puts its result on the stack.
/// False, and nothing has happened, for every other call.
bool fill_by_mask(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace spyre::engine
