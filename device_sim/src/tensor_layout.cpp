// spyre/device_sim/tensor_layout.cpp — derivation. `dim_map` names, for each device dimension, the host dimension it
// walks: those of the order but for the stick dimension, with the number of sticks put before the outermost.
#include "spyre/device_sim/tensor_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/base/hash.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

void check_format(DataFormat format) {
  if (elements_per_stick(format) == 0)
    throw Unsupported(str("layout: the card stores no tensors of ", format));
}

/// Throws if the whole tensor's bytes do not fit 63 bits.
void check_addressable(const Dims& device_size) {
  auto bytes = static_cast<std::int64_t>(kStick.count);
  for (std::size_t i = 0; i + 1 < device_size.size(); ++i)
    if (__builtin_mul_overflow(bytes, device_size[i], &bytes))
      throw InvalidArgument(str("layout: device size ", device_size, " is beyond any memory"));
}

bool is_sparse(const Dims& order) { return !order.empty() && order.back() == kSparse; }

void check_order(const Dims& size, const Dims& order) {
  const std::size_t dims = order.size() - (is_sparse(order) ? 1 : 0);
  std::vector<bool> named(size.size(), false);
  bool permutation = dims == size.size();
  for (std::size_t i = 0; i < dims && permutation; ++i) {
    const auto dim = static_cast<std::size_t>(order[i]);
    permutation = order[i] >= 0 && dim < named.size() && !named[dim];
    if (permutation) named[dim] = true;
  }
  if (!permutation)
    throw InvalidArgument(str("layout: dim_order ", order, " of a tensor of rank ", size.size(),
                              "; expected each dimension once, and -1 last for a sparse stick"));
  if (size.size() > kMaxLayoutRank)
    throw Unsupported(str("Unsupported tensor rank: layouts are derived up to rank ",
                          kMaxLayoutRank, "; got ", size.size()));
}

Dims dim_map_of(const Dims& order) {
  if (order.size() == 1) return {order[0], order[0]};
  Dims map(order.span().subspan(1));
  map.push_back(order[0]);
  map.push_back(order.back());
  return map;
}

Dims device_size_of(const Dims& size, const Dims& dim_map, std::int64_t stick) {
  Dims device_size;
  for (std::size_t i = 0; i + 1 < dim_map.size(); ++i) {
    const std::int64_t dim = dim_map[i];
    if (dim == kSparse) device_size.push_back(1);
    else if (dim != dim_map.back()) device_size.push_back(size[static_cast<std::size_t>(dim)]);
    else device_size.push_back((size[static_cast<std::size_t>(dim)] + stick - 1) / stick);
  }
  device_size.push_back(stick);
  return device_size;
}

/// From the inside out: the first device dimension of a host dimension steps by its stride, the
/// next one by what the first covers.
Dims stride_map_of(const Dims& size, const Dims& stride, const Dims& dim_map,
                   const Dims& device_size) {
  Dims map = Dims::filled(dim_map.size(), kNoHostStride), next = stride;
  for (std::size_t i = dim_map.size(); i-- > 0;) {
    if (dim_map[i] == kSparse) continue;
    const auto dim = static_cast<std::size_t>(dim_map[i]);
    if (size[dim] == 1) continue;
    map[i] = next[dim];
    next[dim] *= device_size[i];
  }
  return map;
}

}  // namespace

TensorLayout::TensorLayout(Dims device_size, Dims stride_map, DataFormat format,
                           ElementArrangement arrangement)
    : device_size_(device_size),
      stride_map_(stride_map),
      format_(format),
      arrangement_(arrangement) {
  check_format(format);
  const std::int64_t stick = device_sim::elements_per_stick(format);
  if (device_size.empty() || device_size.size() != stride_map.size())
    throw InvalidArgument(str("layout: device_size ", device_size, " and stride_map ", stride_map,
                              " need the same rank, at least 1"));
  if (device_size.back() != stick)
    throw InvalidArgument(str("layout: the last device dimension is one stick, ", stick,
                              " elements of ", format, "; got ", device_size));
  if (std::ranges::any_of(device_size, [](std::int64_t n) { return n < 0; }) ||
      std::ranges::any_of(stride_map, [](std::int64_t n) { return n < kNoHostStride; }))
    throw InvalidArgument(str("layout: extents are not negative and strides not below -1; got ",
                              device_size, " and ", stride_map));
  check_addressable(device_size);
}

TensorLayout TensorLayout::derived(const Dims& size, const Dims& stride, DataFormat format,
                                   const Dims& order) {
  check_format(format);
  if (size.size() != stride.size())
    throw InvalidArgument(str("layout: size ", size, " and stride ", stride, " differ in rank"));
  if (std::ranges::any_of(size, [](std::int64_t n) { return n < 0; }))
    throw InvalidArgument(str("layout: sizes are not negative; got ", size));
  check_order(size, order);
  const std::int64_t stick = device_sim::elements_per_stick(format);
  if (size.empty()) return {{1, stick}, {kNoHostStride, kNoHostStride}, format};
  const Dims dim_map = dim_map_of(order);
  const Dims device_size = device_size_of(size, dim_map, stick);
  check_addressable(device_size);
  return {device_size, stride_map_of(size, stride, dim_map, device_size), format};
}

TensorLayout TensorLayout::derived(const Dims& size, const Dims& stride, DataFormat format) {
  return derived(size, stride, format, identity_order(size.size()));
}

TensorLayout TensorLayout::derived(const Dims& size, DataFormat format) {
  Dims stride = Dims::filled(size.size(), 1);  // 0 outside an empty dimension, as upstream counts
  for (std::size_t i = size.size(); i-- > 1;) stride[i - 1] = stride[i] * size[i];
  return derived(size, stride, format);
}

Dims TensorLayout::device_strides() const { return contiguous_strides(device_size_); }

std::int64_t TensorLayout::sticks() const {
  return Dims(device_size_.span().first(device_size_.size() - 1)).numel();
}

Bytes TensorLayout::padding(std::int64_t elements) const {
  const std::uint64_t used = (static_cast<std::uint64_t>(elements) * bits_of(format_) + 7) / 8;
  return bytes() - Bytes{std::min(used, bytes().count)};
}

TensorLayout TensorLayout::with_arrangement(ElementArrangement arrangement) const {
  TensorLayout layout = *this;
  layout.arrangement_ = arrangement;
  return layout;
}

std::ostream& operator<<(std::ostream& out, const TensorLayout& layout) {
  out << "SpyreTensorLayout(device_size=" << layout.device_size_
      << ", stride_map =" << layout.stride_map_ << ", device_dtype=DataFormats." << layout.format_;
  if (layout.arrangement_ != ElementArrangement::Standard)
    out << ", element_arrangement=ElementArrangement." << layout.arrangement_;
  return out << ')';
}

Dims identity_order(std::size_t rank) {
  Dims order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  return order;
}

}  // namespace spyre::device_sim

std::size_t std::hash<spyre::device_sim::TensorLayout>::operator()(
    const spyre::device_sim::TensorLayout& layout) const noexcept {
  std::array<std::int64_t, 2 * spyre::kMaxRank + 2> words{};
  std::size_t count = 0;
  words[count++] = static_cast<std::int64_t>(layout.format());
  words[count++] = static_cast<std::int64_t>(layout.arrangement());
  for (const auto* dims : {&layout.device_size(), &layout.stride_map()})
    for (const std::int64_t value : *dims) words[count++] = value;
  return spyre::hash(std::as_bytes(std::span(words).first(count))).low;
}
