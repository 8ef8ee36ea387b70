// spyre/engine/src/fallback_arguments.h — the stack of a boxed call, moved to the host and back.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

#include "spyre/engine/host_view.h"

namespace spyre::engine {

/// Where the call runs: the device of its first spyre tensor, of its device argument, or the current one. Throws
/// c10::Error, as CUDA does, if tensors of several devices meet; CPU tensors without dimensions are numbers.
c10::Device device_of_call(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

/// The device tensors that the call changes in place.
std::vector<at::Tensor> tensors_written(const c10::OperatorHandle& op,
                                        const torch::jit::Stack& stack);

/// Replaces the arguments on the stack: tensors by CPU views, devices by the CPU, generators by a CPU generator that is
/// seeded from the device's.
void arguments_to_host(const c10::OperatorHandle& op, torch::jit::Stack& stack, c10::Device device,
                       HostViews& views);

/// Replaces the results on the stack by tensors on `device`.
void results_to_device(const c10::OperatorHandle& op, torch::jit::Stack& stack, c10::Device device,
                       HostViews& views);

}  // namespace spyre::engine
