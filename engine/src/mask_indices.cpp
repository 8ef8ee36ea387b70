// spyre/engine/mask_indices.cpp — masks are counted on the device; their coordinates never leave it.
#include "mask_indices.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace spyre::engine {
namespace {

using at::Tensor;

/// What a list of indices holds, one after the other.
using Indices = std::vector<std::optional<Tensor>>;

bool is_of(c10::ScalarType type, const std::optional<Tensor>& index) {
  return index && index->defined() && index->scalar_type() == type;
}
bool is_mask(const std::optional<Tensor>& index) { return is_of(c10::ScalarType::Bool, index); }

/// Each mask is as large as the dimensions that it stands for.
bool masks_fit(const Indices& indices, const Tensor& self) {
  std::int64_t dim = 0;
  for (const std::optional<Tensor>& index : indices) {
    const std::int64_t covered = is_mask(index) ? index->dim() : 1;
    if (covered == 0 || dim + covered > self.dim()) return false;
    const auto sizes =
        self.sizes().slice(static_cast<std::size_t>(dim), static_cast<std::size_t>(covered));
    if (is_mask(index) && index->sizes() != sizes) return false;
    dim += covered;
  }
  return true;
}

}  // namespace

bool indices_for_masks(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  c10::IValue& list = torch::jit::peek(stack, 1, count);
  const Indices indices = list.toOptionalTensorVector();
  const auto is_byte = [](const auto& index) { return is_of(c10::ScalarType::Byte, index); };
  if (std::ranges::any_of(indices, is_byte)) return false;
  if (std::ranges::none_of(indices, is_mask)) return true;
  if (!masks_fit(indices, torch::jit::peek(stack, 0, count).toTensor())) return false;
  c10::List<std::optional<Tensor>> places;
  for (const std::optional<Tensor>& index : indices) {
    if (!is_mask(index)) {
      places.push_back(index);
      continue;
    }
    const Tensor coordinates = index->nonzero();
    for (std::int64_t dim = 0; dim < index->dim(); ++dim)
      places.push_back(coordinates.select(1, dim));
  }
  list = std::move(places);
  return true;
}

}  // namespace spyre::engine
