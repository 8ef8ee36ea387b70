// spyre/engine/src/sparse_tensor.h — sparse COO tensors of the device: PyTorch's own, with indices and values on it.
#pragma once
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/Tensor.h>

namespace spyre::engine {

/// The implementation of a sparse COO tensor of any device.
inline at::SparseTensorImpl& sparse_impl(const at::Tensor& tensor) {
  return static_cast<at::SparseTensorImpl&>(*tensor.unsafeGetTensorImpl());
}

/// A sparse tensor with the sizes of `like` that keeps `indices` and `values`, on their device.
at::Tensor sparse_like(const at::Tensor& like, const at::Tensor& indices, const at::Tensor& values);

/// The dense tensor that holds what can be changed in `tensor`: its values if it is sparse, itself otherwise.
inline at::Tensor elements_of(const at::Tensor& tensor) {
  return tensor.is_sparse() ? sparse_impl(tensor).values() : tensor;
}

}  // namespace spyre::engine
