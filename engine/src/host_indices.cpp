// spyre/engine/host_indices.cpp — which dimension each index of a list is for, and the check.
#include "host_indices.h"

#include <ATen/Functions.h>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::engine {
namespace {

bool is_mask(const at::Tensor& index) {
  return index.scalar_type() == c10::kBool || index.scalar_type() == c10::kByte;
}

void check(const at::Tensor& index, std::int64_t dim, std::int64_t size) {
  const auto [low, high] = at::aminmax(index);
  for (const std::int64_t value : {low.item<std::int64_t>(), high.item<std::int64_t>()})
    if (value < -size || value >= size)
      throw IndexOutOfRange(
          str("index ", value, " is out of bounds for dimension ", dim, " with size ", size));
}

}  // namespace

void check_host_indices(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto arguments = torch::jit::last(stack, op.schema().arguments().size());
  if (arguments.size() < 2 || !arguments[1].isOptionalTensorList()) return;
  const at::Tensor& self = arguments[0].toTensor();
  std::int64_t dim = 0;
  for (const c10::IValue& element : arguments[1].toListRef()) {
    const at::Tensor index = element.isTensor() ? element.toTensor() : at::Tensor();
    const bool plain = !index.defined() || !is_mask(index);
    // Too many of them: another check's complaint.
    if (dim < self.dim() && index.defined() && plain && index.is_cpu() && index.numel() != 0 &&
        c10::isIntegralType(index.scalar_type(), /*includeBool=*/false))
      check(index, dim, self.size(dim));
    dim += plain ? 1 : index.dim();
  }
}

}  // namespace spyre::engine
