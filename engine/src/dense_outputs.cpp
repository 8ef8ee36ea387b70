// spyre/engine/dense_outputs.cpp — a copy there and a copy back.
#include "dense_outputs.h"

#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <span>

#include "stack_tensors.h"

namespace spyre::engine {
namespace {

/// A call may forbid that its result lies in an argument: the kernel has to see that it does.
bool shares_storage(const at::Tensor& output, std::span<const c10::IValue> arguments) {
  int holders = 0;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (tensor.defined() && tensor.layout() == c10::kStrided && tensor.is_alias_of(output))
        ++holders;
    });
  }
  return holders > 1;
}

bool needs_stand_in(const at::Tensor& output) {
  return output.defined() && output.is_privateuseone() && output.layout() == c10::kStrided &&
         (!output.is_contiguous() || std::ranges::count(output.strides(), 0) != 0);
}

}  // namespace

DenseOutputs::DenseOutputs(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const std::span<c10::IValue> values(stack.end() - static_cast<std::ptrdiff_t>(arguments.size()),
                                      arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_out()) continue;
    values[i] = with_tensors(values[i], [&](const at::Tensor& output) {
      if (!needs_stand_in(output)) return output;
      at::assert_no_internal_overlap(output);
      if (shares_storage(output, values)) return output;
      // A copy: a kernel may leave elements as they are.
      stand_ins_.push_back({.asked = output, .dense = output.clone(at::MemoryFormat::Contiguous)});
      return stand_ins_.back().dense;
    });
  }
}

void DenseOutputs::deliver(torch::jit::Stack& stack) const {
  for (const StandIn& s : stand_ins_) {
    if (s.asked.sizes() != s.dense.sizes()) s.asked.resize_(s.dense.sizes());
    s.asked.copy_(s.dense);
  }
  if (stand_ins_.empty()) return;
  for (c10::IValue& value : stack) {
    value = with_tensors(value, [&](const at::Tensor& result) {
      for (const StandIn& s : stand_ins_)
        if (s.dense.is_same(result)) return s.asked;
      return result;
    });
  }
}

}  // namespace spyre::engine
