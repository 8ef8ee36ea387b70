// spyre/engine/layout_tensor.h — tensors that the card keeps in a layout of the caller's choice.
#pragma once
#include <ATen/core/Tensor.h>

#include "spyre/device_sim/tensor_layout.h"

namespace spyre::engine {

/// A new dense tensor with ordinary sizes and strides to everyone, kept in sticks on the card.
/// Throws InvalidArgument if the layout does not hold such a tensor, TypeMismatch if its format is
/// not the type's.
at::Tensor empty_in_layout(c10::IntArrayRef sizes, c10::ScalarType type, c10::Device device,
                           const device_sim::TensorLayout& layout);

/// The layout in which the tensor's storage is kept; null if none was chosen.
const device_sim::TensorLayout* kept_layout(const at::Tensor& tensor);

}  // namespace spyre::engine
