// spyre/engine/src/dense_outputs.h — out= tensors as CPU kernels expect them.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

namespace spyre::engine {

/// Many CPU kernels write an out= tensor as if it were contiguous, whatever its strides say: into the wrong places, or
/// past its end. For the time of a call they get contiguous stand-ins. Confined to one thread, for one call.
class DenseOutputs {
 public:
  /// Replaces the out= tensors that are not contiguous on the stack. Throws c10::Error if one shares memory with itself.
  DenseOutputs(const c10::OperatorHandle& op, torch::jit::Stack& stack);

  /// After the call: its results move to where they were asked for, also on the stack.
  void deliver(torch::jit::Stack& stack) const;

 private:
  struct StandIn {
    at::Tensor asked, dense;
  };
  std::vector<StandIn> stand_ins_;
};

}  // namespace spyre::engine
