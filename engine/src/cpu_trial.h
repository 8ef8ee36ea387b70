// spyre/engine/src/cpu_trial.h — CPU's word on whether a call is allowed.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace spyre::engine {

/// Calls a pointwise operator on CPU, with one element in the place of each tensor of another device: raises what CPU
/// raises about the types of these arguments, and returns results of the right types.
torch::jit::Stack try_types_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack arguments);

}  // namespace spyre::engine
