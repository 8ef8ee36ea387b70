// spyre/lazy/tiled.h — what a buffer in one of the card's layouts holds, and how its bytes become ordinary ones.
#pragma once
#include <cstddef>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/base/dtype.h"
#include "spyre/device_sim/copy_nest.h"
#include "spyre/device_sim/tensor_layout.h"

namespace spyre::lazy {

/// A tensor's *image* is the memory that it would have with ordinary strides: what every operation
/// speaks of. This is the same tensor in sticks: elements keep their bits and size, the layout says
/// where they are. Immutable.
class Tiled {
 public:
  /// `element_size`: 1, 2, 4 or 8. Throws InvalidArgument if the layout does not hold the tensor.
  Tiled(device_sim::TensorLayout layout, const device_sim::HostShape& shape,
        std::size_t element_size);

  const device_sim::TensorLayout& layout() const { return layout_; }
  const device_sim::HostShape& shape() const { return shape_; }
  /// Up to the image's last element.
  Bytes image_bytes() const { return image_bytes_; }
  /// Padding included.
  Bytes bytes() const { return bytes_; }
  /// A type of the element's size of which copies keep every bit, whatever the numerics.
  DType element() const { return element_; }

  const std::vector<device_sim::CopyNest>& from_image() const { return from_image_; }
  const std::vector<device_sim::CopyNest>& to_image() const { return to_image_; }

  // The same on the host. Both targets' other bytes stay as they are.
  void tile(const std::byte* image, std::byte* sticks) const;
  void untile(const std::byte* sticks, std::byte* image) const;

 private:
  device_sim::TensorLayout layout_;
  device_sim::HostShape shape_;
  DType element_;
  Bytes image_bytes_, bytes_;
  std::vector<device_sim::CopyNest> from_image_, to_image_;
};

}  // namespace spyre::lazy
