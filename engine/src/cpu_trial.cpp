// spyre/engine/cpu_trial.cpp — one-element stand-ins.
#include "cpu_trial.h"

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "stack_tensors.h"

namespace spyre::engine {
namespace {

/// An output has no shape yet, so that none is in the way; ones divide without complaint.
at::Tensor stand_in(const at::Tensor& tensor, bool is_output) {
  const c10::TensorOptions options(tensor.scalar_type());
  if (is_output) return at::empty({0}, options);
  if (tensor.dim() != 0) return at::ones({1}, options);
  at::Tensor one = at::ones({}, options);
  one.unsafeGetTensorImpl()->set_wrapped_number(tensor.unsafeGetTensorImpl()->is_wrapped_number());
  return one;
}

}  // namespace

torch::jit::Stack try_types_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack arguments) {
  const auto& schema = op.schema().arguments();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    arguments[i] = with_tensors(arguments[i], [&](const at::Tensor& tensor) {
      return tensor.defined() && !tensor.is_cpu() ? stand_in(tensor, schema[i].is_out()) : tensor;
    });
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  op.callBoxed(arguments);
  return arguments;
}

}  // namespace spyre::engine
