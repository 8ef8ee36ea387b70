// spyre/device_sim/tiling.h — where each element of a tensor is: the steps by which the index of each dimension is cut.
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/device_sim/tensor_layout.h"

namespace spyre::device_sim {

/// Extents and element strides of a tensor in host memory.
struct HostShape {
  Dims sizes, strides;
};

/// One memory dimension that walks a tensor dimension: its coordinate adds `step` to the tensor's
/// index and `stride` to the place in memory.
struct Tile {
  std::int64_t step = 1, extent = 1, stride = 0;
};

/// A memory dimension along which every element is stored again.
struct Repeat {
  std::int64_t extent = 1, stride = 0;
};

/// A strided window of a tensor: where its first element is, in the strides of `HostShape`, and how
/// its own dimensions step. A stride of 0 repeats.
struct Window {
  Dims sizes, strides;
  std::int64_t offset = 0;
};

struct TiledWindow;

/// For each tensor dimension the tiles that walk it, outermost first; the last one's step is 1. An
/// index i is at the sum of (i mod step of the tile before) / step * stride. Dimensions of extent 1
/// have no tiles. A value.
class Tiling {
 public:
  /// One tile per dimension: ordinary strides.
  static Tiling strided(const HostShape& shape);
  /// The tensor of `shape`, whose strides are the ones that the stride map speaks of, in device
  /// memory. nullopt if the layout does not hold every element of it, dimension by dimension.
  static std::optional<Tiling> of(const TensorLayout& layout, const HostShape& shape);

  /// The tiles of a window of the tensor whose strides are in `shape`, and where it begins. nullopt
  /// if the window's steps do not follow the tiles: a row that begins inside a stick and ends in
  /// the next, say.
  std::optional<TiledWindow> window(const HostShape& shape, const Window& window) const;

  const Dims& sizes() const { return sizes_; }
  std::span<const Tile> tiles(std::size_t dim) const { return tiles_[dim]; }
  std::span<const Repeat> repeats() const { return repeats_; }

  /// Where an element is; of a repeated one, the first place.
  std::int64_t offset_of(std::span<const std::int64_t> index) const;

 private:
  explicit Tiling(Dims sizes) : sizes_(sizes), tiles_(sizes.size()) {}
  bool covers(std::size_t dim) const;

  Dims sizes_;
  std::vector<std::vector<Tile>> tiles_;
  std::vector<Repeat> repeats_;
};

struct TiledWindow {
  Tiling tiling;
  std::int64_t offset = 0;
};

/// The coordinate of one device dimension, in terms of the tensor's indices:
/// (index[dim] mod outer) / step. Constant 0 where no dimension walks it.
struct Coordinate {
  std::optional<std::size_t> dim = std::nullopt;
  std::int64_t step = 1, outer = 0;  // outer 0: not taken modulo

  std::int64_t at(std::span<const std::int64_t> index) const;
  friend bool operator==(const Coordinate&, const Coordinate&) = default;
  /// "i1 / 64", "i1 mod 64", "0".
  friend std::ostream& operator<<(std::ostream& out, const Coordinate& coordinate);
};

/// One per device dimension; nullopt as Tiling::of.
std::optional<std::vector<Coordinate>> device_coordinates(const TensorLayout& layout,
                                                          const HostShape& shape);

}  // namespace spyre::device_sim
