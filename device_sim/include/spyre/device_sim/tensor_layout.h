// spyre/device_sim/tensor_layout.h — how a tensor lies in the card's memory: sticks, and the order of its dimensions.
#pragma once
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>

#include "spyre/base/bytes.h"
#include "spyre/base/dims.h"
#include "spyre/device_sim/data_format.h"

namespace spyre::device_sim {

/// In a stride map: this device dimension has no counterpart on the host. Only its coordinate 0
/// holds an element.
inline constexpr std::int64_t kNoHostStride = -1;
/// Last in an order of dimensions: every stick holds one element.
inline constexpr std::int64_t kSparse = -1;
/// Ranks that have a derived layout.
inline constexpr std::size_t kMaxLayoutRank = 6;

/// Device memory is dense and row major over `device_size`, whose last extent is one stick. A step
/// along device dimension i is `stride_map[i]` elements on the host: 0 repeats an element,
/// kNoHostStride see above. Coordinates that lead outside the host's shape are padding. A value;
/// compares and hashes by all four fields.
class TensorLayout {
 public:
  /// Any device extents and strides: over-padded, tiled, folded and broadcast layouts included.
  /// Throws InvalidArgument if the two differ in rank, if an extent is negative or a stride below
  /// -1, and if the last extent is not one stick of `format`.
  TensorLayout(Dims device_size, Dims stride_map, DataFormat format,
               ElementArrangement arrangement = ElementArrangement::Standard);

  /// The card's own choice: the last dimension of `order` is cut into sticks; the number of sticks
  /// comes just outside the outermost dimension of `order`, which is second innermost.
  /// `order`: a permutation of the dimensions, or one followed by kSparse. Throws Unsupported above
  /// kMaxLayoutRank.
  static TensorLayout derived(const Dims& size, const Dims& stride, DataFormat format,
                              const Dims& order);
  static TensorLayout derived(const Dims& size, const Dims& stride, DataFormat format);
  /// Of a dense row-major tensor.
  static TensorLayout derived(const Dims& size, DataFormat format);

  const Dims& device_size() const { return device_size_; }
  const Dims& stride_map() const { return stride_map_; }
  DataFormat format() const { return format_; }
  ElementArrangement arrangement() const { return arrangement_; }
  std::int64_t elements_per_stick() const { return device_size_.back(); }

  /// Elements that a step along each device dimension makes in device memory.
  Dims device_strides() const;
  std::int64_t sticks() const;
  /// Device memory, padding included.
  Bytes bytes() const { return kStick * static_cast<std::uint64_t>(sticks()); }
  /// Bytes that hold no element of a tensor with `elements` elements.
  Bytes padding(std::int64_t elements) const;

  TensorLayout with_arrangement(ElementArrangement arrangement) const;

  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
  /// Upstream's text, the space before "=" included.
  friend std::ostream& operator<<(std::ostream& out, const TensorLayout& layout);

 private:
  Dims device_size_, stride_map_;
  DataFormat format_;
  ElementArrangement arrangement_;
};

/// The order 0, 1, ..., rank - 1.
Dims identity_order(std::size_t rank);

}  // namespace spyre::device_sim

template <> struct std::hash<spyre::device_sim::TensorLayout> {
  std::size_t operator()(const spyre::device_sim::TensorLayout& layout) const noexcept;
};
