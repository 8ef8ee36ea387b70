// spyre/engine/src/unsupported_layouts.h — tensors that the device has no form for are refused by name.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace spyre::engine {

/// After `op` has run on the host: throws Unsupported if one of its results has a layout that the device does not have.
void check_layouts_of_results(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace spyre::engine
