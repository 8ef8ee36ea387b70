// spyre/engine/unsupported_layouts.cpp — compressed sparse, quantized, nested and oneDNN tensors stay on the CPU.
#include "unsupported_layouts.h"

#include <torch/library.h>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/error_boundary.h"
#include "stack_tensors.h"

namespace spyre::engine {
namespace {

constexpr const char* kOnCpu =
    "spyre has strided and sparse COO tensors only; keep this part of the program on the CPU "
    "(tensor.cpu()), and give its dense result to spyre";
constexpr const char kCompressed[] = "compressed sparse tensors (to_sparse() gives COO)";
constexpr const char kQuantized[] = "quantized tensors";
constexpr const char kNested[] = "nested tensors other than layout=torch.jagged";

/// A kernel for keys of such tensors: nothing runs on them.
template <const char* what> void refuse(const c10::OperatorHandle& op, torch::jit::Stack*) {
  throw Unsupported(str(c10::toString(op.operator_name()), " of ", what, ": ", kOnCpu));
}

template <const char* what> torch::CppFunction refusal() {
  return torch::CppFunction::makeFromBoxedFunction<&guarded_boxed<&refuse<what>>>();
}

std::string kind_of(const at::Tensor& tensor) {
  if (tensor.is_quantized()) return "a quantized tensor";
  if (tensor.is_nested()) return "a nested tensor";
  return c10::str("a tensor of layout ", tensor.layout());
}

void check_layout(const c10::OperatorHandle& op, const at::Tensor& result) {
  if (!result.defined()) return;
  const bool known = result.layout() == c10::kStrided || result.layout() == c10::kSparse;
  if (known && !result.is_quantized() && !result.is_nested()) return;
  throw Unsupported(
      str(c10::toString(op.operator_name()), " gives ", kind_of(result), ": ", kOnCpu));
}

}  // namespace

void check_layouts_of_results(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().returns().size()))
    for_each_tensor(value, [&](const at::Tensor& result) { check_layout(op, result); });
}

TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) { m.fallback(refusal<kCompressed>()); }
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) { m.fallback(refusal<kQuantized>()); }
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) { m.fallback(refusal<kNested>()); }

}  // namespace spyre::engine
