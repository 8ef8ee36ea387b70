// spyre/engine/shape_rules.cpp — TensorIterator's rules for shape, strides and overlap.
#include "spyre/engine/shape_rules.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>

#include <algorithm>

namespace spyre::engine {
namespace {

bool all_have(TensorRefs tensors, const Dims& sizes) {
  return std::ranges::all_of(tensors,
                             [&](const at::Tensor* t) { return t->sizes() == as_array(sizes); });
}

bool all_contiguous(TensorRefs tensors, c10::MemoryFormat format) {
  return std::ranges::all_of(tensors,
                             [&](const at::Tensor* t) { return t->is_contiguous(format); });
}

bool all_dense_alike(TensorRefs tensors) {
  return std::ranges::all_of(tensors, [&](const at::Tensor* t) {
    return t->is_non_overlapping_and_dense() && t->strides() == tensors.front()->strides();
  });
}

Dims channels_last_strides(const Dims& sizes) {
  Dims strides = Dims::filled(sizes.size(), 1);
  std::int64_t step = 1;
  for (const std::size_t d : {1U, 3U, 2U, 0U}) {
    strides[d] = step;
    step *= std::max<std::int64_t>(sizes[d], 1);
  }
  return strides;
}

/// Positive: `a` is outside of `b` and must come later, negative: the reverse, zero: the operands
/// do not say.
int compare_dimensions(const Dims& sizes, std::span<const Dims> strides, std::size_t a,
                       std::size_t b) {
  for (const Dims& s : strides) {
    if (s[a] == 0 || s[b] == 0) continue;
    if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

/// Dimensions from innermost to outermost. An insertion sort, because the order is only partial and
/// ties must fall as they do in TensorIterator.
Dims stride_order(const Dims& sizes, std::span<const Dims> strides) {
  const std::size_t rank = sizes.size();
  Dims order;
  for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 1; i < rank; ++i) {
    std::size_t moving = i;
    for (std::size_t other = i; other-- > 0;) {
      const int comparison = compare_dimensions(sizes, strides, order[other], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[other], order[moving]);
      moving = other;
    }
  }
  return order;
}

Dims strides_in_order(const Dims& sizes, const Dims& order) {
  Dims strides = Dims::filled(sizes.size(), 1);
  std::int64_t step = 1;
  for (const std::int64_t d : order) {
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

bool is_row_major(const Dims& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<std::int64_t>(order.size() - 1 - i)) return false;
  return true;
}

}  // namespace

bool ranks_fit(TensorRefs tensors) {
  return std::ranges::all_of(
      tensors, [](const at::Tensor* t) { return static_cast<std::size_t>(t->dim()) <= kMaxRank; });
}

Dims broadcast_sizes(TensorRefs tensors) {
  if (tensors.empty()) return {};
  c10::IntArrayRef first = tensors.front()->sizes();
  Dims sizes = dims_of(first);
  for (const at::Tensor* t : tensors.subspan(1)) {
    if (t->sizes() == as_array(sizes)) continue;
    sizes = dims_of(at::infer_size_dimvector(as_array(sizes), t->sizes()));
  }
  return sizes;
}

Dims broadcast_strides(const at::TensorBase& tensor, const Dims& sizes) {
  const c10::IntArrayRef own_sizes = tensor.sizes(), own_strides = tensor.strides();
  const std::size_t lead = sizes.size() - own_sizes.size();
  Dims strides = Dims::filled(sizes.size(), 0);
  for (std::size_t i = 0; i < own_sizes.size(); ++i)
    if (own_sizes[i] == sizes[lead + i] && own_sizes[i] != 1) strides[lead + i] = own_strides[i];
  return strides;
}

Dims result_strides(const Dims& sizes, TensorRefs tensors, bool beside_number) {
  if (all_have(tensors, sizes) && (!beside_number || sizes.empty())) {
    if (all_contiguous(tensors, c10::MemoryFormat::Contiguous)) return contiguous_strides(sizes);
    if (sizes.size() == 4 && all_contiguous(tensors, c10::MemoryFormat::ChannelsLast))
      return channels_last_strides(sizes);
    if (all_dense_alike(tensors)) return dims_of(tensors.front()->strides());
  }
  std::array<Dims, 8> strides;
  std::size_t count = 0;
  for (const at::Tensor* t : tensors) {
    ensure(count < strides.size(), "a pointwise operator has at most eight tensors");
    Dims& s = strides[count++] = broadcast_strides(*t, sizes);
    // TensorIterator keeps the stride of an extent of one that does not broadcast, and bytes, not
    // elements.
    const std::size_t lead = sizes.size() - static_cast<std::size_t>(t->dim());
    for (std::size_t d = lead; d < sizes.size(); ++d)
      if (sizes[d] == 1) s[d] = t->stride(static_cast<std::int64_t>(d - lead));
  }
  const Dims order = stride_order(sizes, std::span(strides).first(count));
  return is_row_major(order) ? contiguous_strides(sizes) : strides_in_order(sizes, order);
}

bool check_overlap(const at::TensorBase& out, const at::TensorBase& input) {
  if (!input.has_storage() || input.unsafeGetTensorImpl() == out.unsafeGetTensorImpl())
    return false;
  if (!out.is_alias_of(input) || out.numel() == 0 || input.numel() == 0) return false;
  if (!out.is_non_overlapping_and_dense() || !input.is_non_overlapping_and_dense()) return true;
  const auto begin = [](const at::TensorBase& t) {
    return t.storage_offset() * static_cast<std::int64_t>(t.itemsize());
  };
  const auto end = [&](const at::TensorBase& t) {
    return begin(t) + static_cast<std::int64_t>(t.nbytes());
  };
  const bool same_range = begin(out) == begin(input) && end(out) == end(input);
  if (same_range && out.strides() == input.strides()) return false;
  TORCH_CHECK(end(out) <= begin(input) || end(input) <= begin(out),
              "unsupported operation: some elements of the input tensor and the written-to tensor "
              "refer to a single "
              "memory location. Please clone() the tensor before performing the operation.");
  return false;
}

void check_same_device(TensorRefs tensors, c10::Device device) {
  for (const at::Tensor* t : tensors)
    TORCH_CHECK(t->device() == device,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                device, " and ", t->device(), "!");
}

void resize_output(const at::Tensor& out, const Dims& sizes, const Dims& strides) {
  if (out.sizes() == as_array(sizes)) return;
  at::native::resize_output(out, as_array(sizes));
  if (out.strides() == as_array(strides)) return;
  std::int64_t reach = out.numel() == 0 ? 0 : 1;  // more than elements, where strides leave gaps
  for (std::size_t d = 0; d < sizes.size() && reach != 0; ++d) reach += (sizes[d] - 1) * strides[d];
  if (reach > out.numel()) out.resize_({reach});
  out.as_strided_(as_array(sizes), as_array(strides));
}

void check_inplace_shape(const at::TensorBase& self, const Dims& sizes) {
  TORCH_CHECK(self.sizes() == as_array(sizes), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", as_array(sizes));
}

void check_can_cast(c10::ScalarType result, c10::ScalarType out) {
  TORCH_CHECK(c10::canCast(result, out), "result type ", result,
              " can't be cast to the desired output type ", out);
}

}  // namespace spyre::engine
