// spyre/device_sim/restickify.cpp — in the device dimensions: the number of sticks, the new stick dimension's old
// place, and the stick itself.
#include "spyre/device_sim/restickify.h"

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

/// Device dimensions that trade places; the stick is the last one.
struct Slots {
  std::size_t count, of_dim;
};

std::int64_t stride_or_none(const HostShape& shape, std::size_t dim, std::int64_t factor) {
  return shape.sizes[dim] == 1 ? kNoHostStride : shape.strides[dim] * factor;
}

bool is_at(const TensorLayout& layout, std::size_t slot, std::int64_t extent, std::int64_t stride) {
  return layout.device_size()[slot] == extent && layout.stride_map()[slot] == stride;
}

std::int64_t sticks_of(std::int64_t extent, std::int64_t stick) {
  return (extent + stick - 1) / stick;
}

/// Derived layouts have the number of sticks just outside the second innermost dimension.
std::optional<Slots> slots_of(const TensorLayout& layout, const HostShape& shape, std::size_t from,
                              std::size_t to) {
  const std::size_t rank = layout.device_size().size();
  const std::int64_t stick = layout.elements_per_stick();
  if (rank != shape.sizes.size() + 1 || rank < 3) return std::nullopt;
  const std::size_t count = rank - 3;
  if (!is_at(layout, count, sticks_of(shape.sizes[from], stick),
             stride_or_none(shape, from, stick)))
    return std::nullopt;
  for (std::size_t slot = 0; slot + 1 < rank; ++slot)
    if (slot != count && is_at(layout, slot, shape.sizes[to], stride_or_none(shape, to, 1)))
      return Slots{.count = count, .of_dim = slot};
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> stick_dim(const TensorLayout& layout, const HostShape& shape) {
  for (std::size_t d = 0; d < shape.sizes.size(); ++d)
    if (shape.sizes[d] != 1 && shape.strides[d] == layout.stride_map().back()) return d;
  return std::nullopt;
}

TensorLayout restickified(const TensorLayout& layout, const HostShape& shape, std::size_t dim) {
  const auto from = stick_dim(layout, shape);
  if (from == dim) return layout;
  const auto slots = from ? slots_of(layout, shape, *from, dim) : std::nullopt;
  if (!slots)
    throw Unsupported(str("restickify: ", layout, " of size ", shape.sizes,
                          " is not a derived layout with one dimension in its sticks"));
  const std::int64_t stick = layout.elements_per_stick();
  Dims device_size = layout.device_size(), stride_map = layout.stride_map();
  device_size[slots->count] = sticks_of(shape.sizes[dim], stick);
  stride_map[slots->count] = stride_or_none(shape, dim, stick);
  device_size[slots->of_dim] = shape.sizes[*from];
  stride_map[slots->of_dim] = stride_or_none(shape, *from, 1);
  stride_map[stride_map.size() - 1] = stride_or_none(shape, dim, 1);
  return {device_size, stride_map, layout.format(), layout.arrangement()};
}

std::int64_t restickify_cost(const TensorLayout& layout) { return layout.device_size().numel(); }

}  // namespace spyre::device_sim
