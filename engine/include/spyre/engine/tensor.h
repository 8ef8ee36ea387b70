// spyre/engine/tensor.h — from torch tensors to buffers and views, and back. Every adapter uses these and nothing deeper.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "spyre/base/dtype.h"
#include "spyre/lazy/device.h"

namespace spyre::engine {

struct DeviceEntry;

/// The native element type, or nothing for complex, float8 and quantized types (those take the host path).
std::optional<DType> native_type(c10::ScalarType type);
c10::ScalarType scalar_type(DType type);

/// The lazy device behind a torch device or tensor; starts the runtime on first use (throws in a forked child).
lazy::Device& lazy_device(c10::Device device);
lazy::Device& lazy_device(const at::TensorBase& tensor);
/// The calling thread's current stream on that device.
StreamId current_stream(c10::Device device);

/// The buffer under a spyre tensor's storage. Throws TypeMismatch if the tensor lives elsewhere.
lazy::Buffer& buffer_of(const at::TensorBase& tensor);
/// The tensor as a view: spans point into the tensor, which must outlive it. Requires a native type.
lazy::View view_of(const at::TensorBase& tensor);
lazy::LibraryOperand operand_of(const at::TensorBase& tensor);

/// New tensors with a promised buffer; nothing is recorded.
at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType type,
                         c10::Device device);
at::Tensor empty(c10::IntArrayRef sizes, c10::ScalarType type, c10::Device device);

/// What new tensors of one kind have in common: type, sizes, strides, device. Immutable.
class TensorMold {
 public:
  /// `like` is dense and not empty.
  explicit TensorMold(const at::Tensor& like);
  /// A tensor over that memory, which becomes its own.
  at::Tensor cast(DeviceEntry& entry, lazy::BufferRef memory) const;

 private:
  c10::intrusive_ptr<c10::TensorImpl> shape_;  // without storage
  std::size_t bytes_;
};

}  // namespace spyre::engine
