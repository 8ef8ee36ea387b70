// spyre/device_sim/tiling.cpp — which tensor dimension a device dimension walks: the one with the largest host stride
// that is not above its own. Device dimensions of extent 1 only ever have the coordinate 0 and need no partner, which
// also keeps a single stick of one dimension apart from a whole row of the next.
#include "spyre/device_sim/tiling.h"

#include <algorithm>

namespace spyre::device_sim {
namespace {

/// nullopt: no dimension, or the step is not a whole number of its elements.
std::optional<std::size_t> dim_walked_by(std::int64_t stride, const HostShape& shape) {
  std::optional<std::size_t> best;
  for (std::size_t d = 0; d < shape.sizes.size(); ++d) {
    const bool fits = shape.sizes[d] != 1 && shape.strides[d] > 0 && shape.strides[d] <= stride;
    if (fits && (!best || shape.strides[d] > shape.strides[*best])) best = d;
  }
  if (best && stride % shape.strides[*best] != 0) return std::nullopt;
  return best;
}

/// Whether a device dimension walks the host's elements at all.
bool walks(const TensorLayout& layout, std::size_t device_dim) {
  return layout.device_size()[device_dim] != 1 && layout.stride_map()[device_dim] > 0;
}

/// The indices `first`, `first + step`, ... of one tensor dimension, as tiles of their own.
std::optional<std::vector<Tile>> tiles_of_range(std::span<const Tile> tiles, std::int64_t first,
                                                std::int64_t step, std::int64_t count) {
  std::vector<Tile> found;
  std::int64_t last = first + step * (count - 1);  // both inside the tile before
  for (const Tile& tile : tiles) {
    if (step % tile.step == 0) {  // whole tiles: what is inside stays where it is
      found.push_back({1, count, step / tile.step * tile.stride});
      return found;
    }
    if (first / tile.step == last / tile.step) {  // one tile holds all
      first %= tile.step;
      last %= tile.step;
      continue;
    }
    if (first % tile.step != 0 || tile.step % step != 0) return std::nullopt;
    found.push_back({tile.step / step, last / tile.step - first / tile.step + 1, tile.stride});
    first = 0;
    last = tile.step - step;
  }
  return std::nullopt;
}

}  // namespace

Tiling Tiling::strided(const HostShape& shape) {
  Tiling tiling(shape.sizes);
  for (std::size_t d = 0; d < shape.sizes.size(); ++d)
    if (shape.sizes[d] != 1)
      tiling.tiles_[d].push_back({.step = 1, .extent = shape.sizes[d], .stride = shape.strides[d]});
  return tiling;
}

std::optional<Tiling> Tiling::of(const TensorLayout& layout, const HostShape& shape) {
  Tiling tiling(shape.sizes);
  const Dims device_strides = layout.device_strides();
  for (std::size_t j = 0; j < layout.device_size().size(); ++j) {
    const std::int64_t extent = layout.device_size()[j], stride = layout.stride_map()[j];
    if (stride == 0 && extent != 1) tiling.repeats_.push_back({extent, device_strides[j]});
    if (!walks(layout, j)) continue;
    const auto dim = dim_walked_by(stride, shape);
    if (!dim) return std::nullopt;
    tiling.tiles_[*dim].push_back({stride / shape.strides[*dim], extent, device_strides[j]});
  }
  for (std::size_t d = 0; d < shape.sizes.size(); ++d) {
    if (shape.sizes[d] == 1) continue;
    // Every index of an expanded dimension is the same element.
    if (shape.strides[d] == 0) tiling.tiles_[d] = {{1, shape.sizes[d], 0}};
    std::ranges::stable_sort(tiling.tiles_[d], std::ranges::greater{}, &Tile::step);
    if (!tiling.covers(d)) return std::nullopt;
  }
  return tiling;
}

std::optional<TiledWindow> Tiling::window(const HostShape& shape, const Window& window) const {
  // Where the first element is: from the largest stride to the smallest.
  Dims first = Dims::filled(shape.sizes.size(), 0);
  Dims by_stride = identity_order(shape.sizes.size());
  std::ranges::stable_sort(by_stride, std::ranges::greater{}, [&](std::int64_t d) {
    return shape.strides[static_cast<std::size_t>(d)];
  });
  std::int64_t rest = window.offset;
  for (const std::int64_t dim : by_stride) {
    const auto d = static_cast<std::size_t>(dim);
    if (shape.sizes[d] == 1 || shape.strides[d] == 0) continue;
    first[d] = rest / shape.strides[d];
    rest %= shape.strides[d];
    if (first[d] >= shape.sizes[d]) return std::nullopt;
  }
  if (rest != 0) return std::nullopt;

  TiledWindow found{.tiling = Tiling(window.sizes), .offset = offset_of(first.span())};
  std::vector<bool> walked(shape.sizes.size(), false);
  for (std::size_t w = 0; w < window.sizes.size(); ++w) {
    const std::int64_t count = window.sizes[w];
    if (count <= 1) continue;
    if (window.strides[w] == 0) {
      found.tiling.tiles_[w] = {{1, count, 0}};
      continue;
    }
    const auto d = dim_walked_by(window.strides[w], shape);
    if (!d || walked[*d]) return std::nullopt;
    walked[*d] = true;
    const std::int64_t step = window.strides[w] / shape.strides[*d];
    if (first[*d] + step * (count - 1) >= shape.sizes[*d]) return std::nullopt;
    auto tiles = tiles_of_range(tiles_[*d], first[*d], step, count);
    if (!tiles) return std::nullopt;
    found.tiling.tiles_[w] = std::move(*tiles);
  }
  return found;
}

bool Tiling::covers(std::size_t dim) const {
  std::int64_t reach = sizes_[dim];
  if (reach == 0) return true;
  for (const Tile& tile : tiles_[dim]) {
    if ((reach + tile.step - 1) / tile.step > tile.extent) return false;
    reach = std::min(reach, tile.step);
  }
  return reach == 1;
}

std::int64_t Tiling::offset_of(std::span<const std::int64_t> index) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < tiles_.size(); ++d) {
    std::int64_t rest = index[d];
    for (const Tile& tile : tiles_[d]) {
      offset += rest / tile.step * tile.stride;
      rest %= tile.step;
    }
  }
  return offset;
}

std::int64_t Coordinate::at(std::span<const std::int64_t> index) const {
  if (!dim) return 0;
  const std::int64_t inside = outer == 0 ? index[*dim] : index[*dim] % outer;
  return inside / step;
}

std::ostream& operator<<(std::ostream& out, const Coordinate& coordinate) {
  if (!coordinate.dim) return out << 0;
  const bool both = coordinate.outer != 0 && coordinate.step != 1;
  out << (both ? "(" : "") << 'i' << *coordinate.dim;
  if (coordinate.outer != 0) out << " mod " << coordinate.outer;
  out << (both ? ")" : "");
  if (coordinate.step != 1) out << " / " << coordinate.step;
  return out;
}

std::optional<std::vector<Coordinate>> device_coordinates(const TensorLayout& layout,
                                                          const HostShape& shape) {
  const auto tiling = Tiling::of(layout, shape);
  if (!tiling) return std::nullopt;
  std::vector<Coordinate> coordinates(layout.device_size().size());
  for (std::size_t j = 0; j < coordinates.size(); ++j) {
    if (!walks(layout, j)) continue;
    Coordinate& coordinate = coordinates[j];
    coordinate.dim = dim_walked_by(layout.stride_map()[j], shape);
    coordinate.step = layout.stride_map()[j] / shape.strides[*coordinate.dim];
    for (const Tile& tile : tiling->tiles(*coordinate.dim))
      if (tile.step > coordinate.step) coordinate.outer = tile.step;
  }
  return coordinates;
}

}  // namespace spyre::device_sim
