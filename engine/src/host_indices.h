// spyre/engine/host_indices.h — indices that the host holds are checked at the call.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace spyre::engine {

/// Raises CPU's IndexError if an index that lies on the CPU (a list of Python's) leaves its dimension. Indices on the
/// device are checked when they are used.
void check_host_indices(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace spyre::engine
