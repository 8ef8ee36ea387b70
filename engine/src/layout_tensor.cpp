// spyre/engine/layout_tensor.cpp — a storage over a tiled buffer; everything else follows from the buffer.
#include "spyre/engine/layout_tensor.h"

#include <ATen/EmptyTensor.h>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/allocator.h"
#include "spyre/engine/data_formats.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {

at::Tensor empty_in_layout(c10::IntArrayRef sizes, c10::ScalarType type, c10::Device device,
                           const device_sim::TensorLayout& layout) {
  if (layout.format() != device_format(type))
    throw TypeMismatch(str("layout: the card keeps ", c10::toString(type), " as ",
                           device_format(type), "; the layout says ", layout.format()));
  const Dims extents{std::span(sizes.data(), sizes.size())};
  lazy::Tiled content(layout, {extents, contiguous_strides(extents)}, c10::elementSize(type));
  // The storage is as long as the image: whoever needs more gets memory of ordinary content.
  const auto bytes = static_cast<std::int64_t>(content.image_bytes().count);
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(bytes),
      new_memory(std::move(content), device.index()), &device_allocator(), true);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

const device_sim::TensorLayout* kept_layout(const at::Tensor& tensor) {
  const lazy::Tiled* tiled = buffer_of(tensor).tiled();
  return tiled == nullptr ? nullptr : &tiled->layout();
}

}  // namespace spyre::engine
