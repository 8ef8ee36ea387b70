// spyre/engine/mask_fill.cpp — writes by mask become masked_fill_, which is fused like any other elementwise operation.
#include "mask_fill.h"

#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>

#include <optional>

namespace spyre::engine {
namespace {

using at::Tensor;

/// The only index of the list, and the dimension that it begins at.
struct Mask {
  Tensor tensor;
  std::int64_t dim = 0;
};

std::optional<Mask> only_mask(c10::ArrayRef<c10::IValue> indices) {
  std::optional<Mask> found;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].isTensor() || !indices[i].toTensor().defined()) continue;
    if (found) return std::nullopt;
    found = Mask{indices[i].toTensor(), static_cast<std::int64_t>(i)};
  }
  return found;
}

bool fits(const Mask& mask, const Tensor& self) {
  const std::int64_t end = mask.dim + mask.tensor.dim();
  return mask.tensor.scalar_type() == c10::ScalarType::Bool &&
         mask.tensor.device() == self.device() && mask.tensor.dim() > 0 && end <= self.dim() &&
         self.sizes().slice(static_cast<std::size_t>(mask.dim),
                            static_cast<std::size_t>(mask.tensor.dim())) == mask.tensor.sizes();
}

/// CPU warns of the one and refuses the other.
bool shares_memory(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return at::has_internal_overlap(self) != at::MemOverlap::No || self.is_alias_of(mask) ||
         self.is_alias_of(value);
}

}  // namespace

bool fill_by_mask(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (op.schema().name() != "aten::_index_put_impl_") return false;
  const std::size_t count = op.schema().arguments().size();
  const auto arguments = torch::jit::last(stack, count);
  Tensor self = arguments[0].toTensor();
  const Tensor value = arguments[2].toTensor();
  const bool accumulate = arguments[3].toBool();
  const std::optional<Mask> mask = only_mask(arguments[1].toListRef());
  if (accumulate || !mask || value.numel() != 1 || value.scalar_type() != self.scalar_type() ||
      !fits(*mask, self) || shares_memory(self, mask->tensor, value))
    return false;
  Tensor spread = mask->tensor;
  while (mask->dim + spread.dim() < self.dim()) spread = spread.unsqueeze(-1);
  self.masked_fill_(spread, value.reshape({}));
  torch::jit::drop(stack, count);
  torch::jit::push(stack, std::move(self));
  return true;
}

}  // namespace spyre::engine
