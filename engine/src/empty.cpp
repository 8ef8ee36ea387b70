// spyre/engine/empty.cpp — tensors with a promise of memory.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <torch/library.h>

#include "spyre/engine/allocator.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using Type = std::optional<c10::ScalarType>;

void check_options(std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == c10::kStrided,
                              "spyre: only strided tensors; got ", c10::layout_or_default(layout));
  TORCH_CHECK(!c10::pinned_memory_or_default(pin_memory), "Only dense CPU tensors can be pinned");
}

at::Tensor filled_if_deterministic(at::Tensor tensor) {
  if (at::globalContext().deterministicAlgorithms() &&
      at::globalContext().deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

at::Tensor empty_memory_format(c10::IntArrayRef sizes, Type type, std::optional<c10::Layout> layout,
                               std::optional<c10::Device> device, std::optional<bool> pin_memory,
                               std::optional<c10::MemoryFormat> format) {
  check_options(layout, pin_memory);
  at::detail::check_size_nonnegative(sizes);
  at::Tensor tensor = empty(sizes, c10::dtype_or_default(type), c10::device_or_default(device));
  if (format.has_value() && *format != c10::MemoryFormat::Contiguous) {
    TORCH_CHECK(*format != c10::MemoryFormat::Preserve,
                "Preserve memory format is only for copies");
    tensor.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  return filled_if_deterministic(std::move(tensor));
}

at::Tensor empty_with_strides(c10::IntArrayRef sizes, c10::IntArrayRef strides, Type type,
                              std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                              std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  at::detail::check_size_nonnegative(sizes);
  return filled_if_deterministic(
      empty_strided(sizes, strides, c10::dtype_or_default(type), c10::device_or_default(device)));
}

/// Zeros without memory, for forward-mode gradients.
at::Tensor zero_tensor(c10::IntArrayRef sizes, Type type, std::optional<c10::Layout> layout,
                       std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  at::native::ZeroTensorAllocator nothing(c10::device_or_default(device));
  constexpr c10::DispatchKeySet kKeys = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) |
                                        c10::DispatchKeySet(c10::DispatchKey::ZeroTensor);
  return at::detail::empty_generic(sizes, &nothing, kKeys, c10::dtype_or_default(type),
                                   std::nullopt);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", guarded<&empty_memory_format>);
  m.impl("empty_strided", guarded<&empty_with_strides>);
  m.impl("_efficientzerotensor", guarded<&zero_tensor>);
}

}  // namespace spyre::engine
