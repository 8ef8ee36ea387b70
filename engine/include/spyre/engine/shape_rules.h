// spyre/engine/shape_rules.h — TensorIterator's rules for shape, strides and overlap.
//
// They are restated here because TensorIterator asks every operand for a data pointer, which a
// device tensor in a pending trace does not have. Error texts are CPU's own.
#pragma once
#include <ATen/core/Tensor.h>

#include <span>

#include "spyre/base/dims.h"

namespace spyre::engine {

/// Borrowed operands of one operator; the tensors outlive the call.
using TensorRefs = std::span<const at::Tensor* const>;

/// True if every rank fits Dims; others take the host path.
bool ranks_fit(TensorRefs tensors);

/// The common shape. Raises CPU's error if the operands do not broadcast.
Dims broadcast_sizes(TensorRefs tensors);

/// Strides of `tensor` seen under `sizes`: 0 where it broadcasts.
Dims broadcast_strides(const at::TensorBase& tensor, const Dims& sizes);

/// The strides of a new result of a pointwise operator over these operands: contiguous if they all
/// are, their own if they agree, else dense in the order of the operands' strides. `beside_number`: there is a
/// 0-dimensional CPU tensor, too, so that the operands are not all alike.
Dims result_strides(const Dims& sizes, TensorRefs tensors, bool beside_number = false);

/// Raises if `out` writes one location twice, or shares memory partially with an input. Returns
/// true if an input may overlap `out` in a way that CPU cannot judge (it must be copied first).
bool check_overlap(const at::TensorBase& out, const at::TensorBase& input);

/// Raises CPU's "all tensors to be on the same device".
void check_same_device(TensorRefs tensors, c10::Device device);

/// For `out=`: gives `out` the shape of the result, with PyTorch's warning if it was not empty.
/// With `strides`, a resized tensor gets these.
void resize_output(const at::Tensor& out, const Dims& sizes, const Dims& strides);

/// For in-place forms: raises if the result does not have the shape of `self`.
void check_inplace_shape(const at::TensorBase& self, const Dims& sizes);

/// Raises if a value of type `result` may not be stored in a tensor of type `out`.
void check_can_cast(c10::ScalarType result, c10::ScalarType out);

inline c10::IntArrayRef as_array(const Dims& dims) { return {dims.begin(), dims.size()}; }
inline std::span<const std::int64_t> as_span(c10::IntArrayRef values) {
  return {values.data(), values.size()};
}
inline Dims dims_of(c10::IntArrayRef values) { return Dims(as_span(values)); }

}  // namespace spyre::engine
