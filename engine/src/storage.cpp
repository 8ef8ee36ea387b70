// spyre/engine/storage.cpp — resize_ and set_.
#include "spyre/engine/storage.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <torch/library.h>

#include <algorithm>

#include "spyre/engine/allocator.h"
#include "spyre/engine/copy.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

/// What a storage grew by, from `old` on, as elements of `tensor`'s type.
void fill_growth_if_deterministic(const at::Tensor& tensor, std::int64_t old) {
  if (!at::globalContext().deterministicAlgorithms() ||
      !at::globalContext().deterministicFillUninitializedMemory())
    return;
  const auto size = static_cast<std::int64_t>(tensor.itemsize());
  const std::int64_t first = old / size;
  const std::int64_t count = static_cast<std::int64_t>(tensor.storage().nbytes()) / size - first;
  if (count <= 0) return;
  at::Tensor growth = alias(tensor, tensor.scalar_type(), {count}, {1}, first);
  at::native::fill_empty_deterministic_(growth);
}

void grow_to_hold(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const std::size_t bytes =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                       static_cast<std::size_t>(tensor.storage_offset()));
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (bytes > storage.nbytes()) resize_storage(storage, {bytes});
}

const at::Tensor& resize_(const at::Tensor& self, c10::IntArrayRef sizes,
                          std::optional<at::MemoryFormat> format) {
  const std::int64_t old_bytes = self.storage().unsafeGetStorageImpl() == nullptr
                                     ? 0
                                     : static_cast<std::int64_t>(self.storage().nbytes());
  resize_tensor(self, sizes);
  if (format.has_value()) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
    self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  fill_growth_if_deterministic(self, old_bytes);
  return self;
}

at::Tensor& set_from_storage(at::Tensor& self, at::Storage source, std::int64_t offset,
                             c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  at::native::checkSetStorage(self, source, offset, sizes, strides);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (strides.data() != nullptr) impl->set_sizes_and_strides(sizes, strides);
  else impl->set_sizes_contiguous(sizes);
  grow_to_hold(self);
  return self;
}

at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source) {
  const auto length = static_cast<std::int64_t>(source.nbytes() / self.itemsize());
  return set_from_storage(self, std::move(source), 0, {length}, {});
}

at::Tensor& set_from_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return set_from_storage(self, source.storage(), source.storage_offset(), source.sizes(),
                          source.strides());
}

at::Tensor& set_to_nothing(at::Tensor& self) {
  return set_from_storage(self, empty({0}, self.scalar_type(), self.device()).storage(), 0, {0},
                          {});
}

}  // namespace

at::Tensor alias(const at::Tensor& tensor, c10::ScalarType type, c10::IntArrayRef sizes,
                 c10::IntArrayRef strides, std::int64_t offset) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(tensor.storage()),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::scalarTypeToTypeMeta(type));
  result.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return result;
}

void resize_storage(c10::StorageImpl& storage, Bytes size) {
  TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
  c10::DataPtr memory = new_memory(size, storage.device().index());
  const Bytes kept = std::min(size, Bytes{storage.nbytes()});
  if (kept.count != 0)
    copy_bytes(storage.device(), buffer_behind(storage.data_ptr()), buffer_behind(memory), kept);
  storage.set_data_ptr_noswap(std::move(memory));
  storage.set_nbytes(size.count);
}

void resize_tensor(const at::Tensor& tensor, c10::IntArrayRef sizes) {
  at::detail::check_size_nonnegative(sizes);
  if (tensor.sizes() == sizes) return;
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  grow_to_hold(tensor);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", guarded<&resize_>);
  m.impl("set_", guarded<&set_to_nothing>);
  m.impl("set_.source_Storage", guarded<&set_whole_storage>);
  m.impl("set_.source_Storage_storage_offset", guarded<&set_from_storage>);
  m.impl("set_.source_Tensor", guarded<&set_from_tensor>);
}

}  // namespace spyre::engine
