// spyre/lazy/tiled.cpp — sizes and nests of a buffer in sticks.
#include "spyre/lazy/tiled.h"

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::lazy {
namespace {

DType movable_type(std::size_t size) {
  switch (size) {
    case 1: return DType::U8;
    case 2: return DType::I16;
    case 4: return DType::I32;
    case 8: return DType::F64;  // int64 is wrapped with the card's numbers
    default: throw Unsupported(str("layout: elements of ", size, " bytes"));
  }
}

std::uint64_t elements_spanned(const device_sim::HostShape& shape) {
  if (shape.sizes.numel() == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.sizes.size(); ++d)
    last += (shape.sizes[d] - 1) * shape.strides[d];
  return static_cast<std::uint64_t>(last + 1);
}

}  // namespace

Tiled::Tiled(device_sim::TensorLayout layout, const device_sim::HostShape& shape,
             std::size_t element_size)
    : layout_(layout),
      shape_(shape),
      element_(movable_type(element_size)),
      image_bytes_{elements_spanned(shape) * element_size},
      bytes_{static_cast<std::uint64_t>(layout_.device_size().numel()) * element_size},
      from_image_(device_sim::host_to_device(layout_, shape, shape.strides)),
      to_image_(device_sim::device_to_host(layout_, shape, shape.strides)) {}

void Tiled::tile(const std::byte* image, std::byte* sticks) const {
  for (const device_sim::CopyNest& nest : from_image_)
    device_sim::copy_elements(nest, size_of(element_), image, sticks);
}

void Tiled::untile(const std::byte* sticks, std::byte* image) const {
  for (const device_sim::CopyNest& nest : to_image_)
    device_sim::copy_elements(nest, size_of(element_), sticks, image);
}

}  // namespace spyre::lazy
