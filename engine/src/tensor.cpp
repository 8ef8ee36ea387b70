// spyre/engine/tensor.cpp — torch tensors as buffers and views.
#include "spyre/engine/tensor.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/DispatchKeySet.h>

#include <array>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/allocator.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"

namespace spyre::engine {
namespace {

using c10::ScalarType;

/// In the order of spyre::DType.
constexpr std::array<ScalarType, kDTypeCount> kScalarTypes{
    ScalarType::Bool,  ScalarType::Byte,  ScalarType::Char, ScalarType::Short,
    ScalarType::Int,   ScalarType::Long,  ScalarType::Half, ScalarType::BFloat16,
    ScalarType::Float, ScalarType::Double};

constexpr std::uint8_t kNone = 0xff;

constexpr auto kNativeTypes = [] {
  std::array<std::uint8_t, static_cast<std::size_t>(ScalarType::NumOptions) + 1> table{};
  table.fill(kNone);
  for (std::size_t i = 0; i < kScalarTypes.size(); ++i) {
    table[static_cast<std::size_t>(kScalarTypes[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

std::span<const std::int64_t> span_of(c10::IntArrayRef values) {
  return {values.data(), values.size()};
}

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

/// A tensor that takes its geometry from another one of the same class, as it is.
class DeviceTensor final : public c10::TensorImpl {
 public:
  DeviceTensor(c10::Storage&& storage, caffe2::TypeMeta type)
      : TensorImpl(std::move(storage), kKeys, type) {}
  /// Without storage: a shape for others.
  DeviceTensor(caffe2::TypeMeta type, c10::Device device) : TensorImpl(kKeys, type, device) {}
  DeviceTensor(c10::Storage&& storage, const DeviceTensor& like)
      : DeviceTensor(std::move(storage), like.data_type_) {
    sizes_and_strides_ = like.sizes_and_strides_;
    numel_ = like.numel_;
    is_contiguous_ = like.is_contiguous_;
    is_channels_last_ = like.is_channels_last_;
    is_channels_last_contiguous_ = like.is_channels_last_contiguous_;
    is_channels_last_3d_ = like.is_channels_last_3d_;
    is_channels_last_3d_contiguous_ = like.is_channels_last_3d_contiguous_;
    is_non_overlapping_and_dense_ = like.is_non_overlapping_and_dense_;
  }
};

c10::Storage storage_over(std::size_t bytes, c10::DataPtr memory) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               c10::SymInt(static_cast<std::int64_t>(bytes)),
                                               std::move(memory), &device_allocator(), true);
}

at::Tensor new_tensor(std::size_t bytes, ScalarType type, c10::Device device) {
  return at::detail::make_tensor<DeviceTensor>(
      storage_over(bytes, new_memory({bytes}, device.index())), c10::scalarTypeToTypeMeta(type));
}

}  // namespace

std::optional<DType> native_type(ScalarType type) {
  const std::uint8_t native = kNativeTypes[static_cast<std::size_t>(type)];
  if (native == kNone) return std::nullopt;
  return static_cast<DType>(native);
}

ScalarType scalar_type(DType type) { return kScalarTypes[static_cast<std::size_t>(type)]; }

lazy::Device& lazy_device(c10::Device device) { return Runtime::get().device(device.index()); }
lazy::Device& lazy_device(const at::TensorBase& tensor) { return buffer_of(tensor).device(); }

StreamId current_stream(c10::Device device) {
  return current_stream_on(device.has_index() ? device.index() : current_device());
}

lazy::Buffer& buffer_of(const at::TensorBase& tensor) {
  if (Runtime::running() == nullptr) Runtime::get();  // raises in a forked child
  return buffer_behind(
      tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()->data_ptr());
}

lazy::View view_of(const at::TensorBase& tensor) {
  const auto type = native_type(tensor.scalar_type());
  if (!type.has_value())
    throw Unsupported(str("spyre: no native form of ", c10::toString(tensor.scalar_type())));
  return {.buffer = &buffer_of(tensor),
          .dtype = *type,
          .offset = tensor.storage_offset(),
          .strides = span_of(tensor.strides())};
}

lazy::LibraryOperand operand_of(const at::TensorBase& tensor) {
  return {.buffer = &buffer_of(tensor),
          .element_size = static_cast<std::uint8_t>(tensor.itemsize()),
          .type_code = static_cast<std::uint8_t>(tensor.scalar_type()),
          .offset = tensor.storage_offset(),
          .sizes = span_of(tensor.sizes()),
          .strides = span_of(tensor.strides())};
}

TensorMold::TensorMold(const at::Tensor& like) : bytes_(like.nbytes()) {
  shape_ = c10::make_intrusive<DeviceTensor>(like.dtype(), like.device());
  shape_->set_sizes_and_strides(like.sizes(), like.strides());
}

at::Tensor TensorMold::cast(DeviceEntry& entry, lazy::BufferRef memory) const {
  return at::detail::make_tensor<DeviceTensor>(storage_over(bytes_, own(entry, std::move(memory))),
                                               static_cast<const DeviceTensor&>(*shape_));
}

at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, ScalarType type,
                         c10::Device device) {
  const std::size_t bytes =
      at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
  at::Tensor tensor = new_tensor(bytes, type, device);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

at::Tensor empty(c10::IntArrayRef sizes, ScalarType type, c10::Device device) {
  const std::size_t bytes =
      at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(type));
  at::Tensor tensor = new_tensor(bytes, type, device);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

}  // namespace spyre::engine
