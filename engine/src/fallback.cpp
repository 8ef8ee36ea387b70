// spyre/engine/fallback.cpp — the boxed catch-all of the device.
#include "spyre/engine/fallback.h"

#include <ATen/core/enum_tag.h>
#include <torch/library.h>

#include "dense_outputs.h"
#include "fallback_arguments.h"
#include "sparse_tensor.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"
#include "spyre/engine/card_numbers.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/host_view.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/tensor.h"
#include "stack_tensors.h"
#include "unsupported_layouts.h"

namespace spyre::engine {
namespace {

FallbackWarner& registered_warner() {
  static FallbackWarner instance = nullptr;
  return instance;
}

bool asks_for_sparse(const c10::Argument& argument, const c10::IValue& value) {
  return argument.name() == "layout" && value.isInt() &&
         static_cast<c10::Layout>(value.toInt()) == c10::kSparse;
}

/// Which of the CPU's kernels a call takes there: the sparse one, if any of its arguments is sparse.
c10::DispatchKey host_key(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  bool sparse = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    sparse = sparse || asks_for_sparse(arguments[i], values[i]);
    for_each_tensor(values[i], [&](const at::Tensor& tensor) {
      sparse = sparse || (tensor.defined() && tensor.is_sparse());
    });
  }
  return sparse ? c10::DispatchKey::SparseCPU : c10::DispatchKey::CPU;
}

void check_kernel(const c10::OperatorHandle& op, c10::DispatchKey key) {
  if (op.hasComputedKernelForDispatchKey(key)) return;
  throw Unsupported(str("Could not run '", c10::toString(op.operator_name()),
                        "' on 'spyre': neither the device nor the CPU has a kernel for it",
                        key == c10::DispatchKey::SparseCPU ? " with sparse tensors" : ""));
}

void count_and_apply_policy(const std::string& name) {
  Runtime& runtime = Runtime::get();
  const FallbackPolicy policy = runtime.fallback_policy();
  if (policy == FallbackPolicy::Error)
    throw Unsupported(str(
        name, ": no kernel on spyre; running it on the host is forbidden by SPYRE_FALLBACK=error"));
  const bool first = runtime.fallbacks().count(name);
  if (first && policy == FallbackPolicy::Warn && registered_warner() != nullptr)
    registered_warner()(str(name, ": no kernel on spyre, runs on the host"));
  log(LogChannel::Fallback, [&] { return str(name, " runs on the host"); });
}

lazy::FlushReason reason_for(const c10::OperatorHandle& op) {
  const bool data_dependent =
      op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  return data_dependent ? lazy::FlushReason::DataDependent : lazy::FlushReason::HostOp;
}

}  // namespace

void set_fallback_warner(FallbackWarner warner) { registered_warner() = warner; }

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::Device device = device_of_call(op, *stack);
  const c10::DispatchKey key = host_key(op, *stack);
  check_kernel(op, key);
  count_and_apply_policy(c10::toString(op.operator_name()));
  const std::vector<at::Tensor> written = tensors_written(op, *stack);
  const DenseOutputs outputs(op, *stack);
  HostViews views(reason_for(op));
  arguments_to_host(op, *stack, device, views);
  op.redispatchBoxed(c10::DispatchKeySet(key), stack);
  check_layouts_of_results(op, *stack);
  views.take_over_changes();
  results_to_device(op, *stack, device, views);
  Bytes changed;
  for (const at::Tensor& tensor : written) {
    const at::Tensor elements = elements_of(tensor);
    changed += Bytes{elements.nbytes()};
    round_to_card(elements);
  }
  // New results are uploads, which have a price of their own.
  lazy_device(device).price_host_work(current_stream(device), {views.bytes_viewed()}, changed);
  outputs.deliver(*stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // Composed of raw accesses to the host's memory, or of code that PyTorch has for its own devices.
  for (const char* const name :
       {"_reshape_from_tensor", "_saturate_weight_to_fp16", "choose_qparams_optimized",
        "fbgemm_linear_fp16_weight", "fbgemm_linear_fp16_weight_fp32_activation",
        "fbgemm_linear_int8_weight", "fbgemm_linear_int8_weight_fp32_activation",
        "fbgemm_linear_quantize_weight", "fbgemm_pack_gemm_matrix_fp16",
        "fbgemm_pack_quantized_matrix", "fbgemm_pack_quantized_matrix.KN", "kaiser_window",
        "kaiser_window.beta", "kaiser_window.periodic", "range.out_", "_batch_norm_no_update"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&guarded_boxed<&fall_back>>());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&guarded_boxed<&fall_back>>());
}

}  // namespace spyre::engine
