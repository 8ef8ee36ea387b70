// spyre/engine/host_view.h — CPU tensors over device memory, for code that runs on the host between device operations.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "spyre/lazy/flush_reason.h"

namespace spyre::engine {

/// The CPU side of one host operation. Making a view ends the trace and waits; views are valid until the device is used
/// again. Tensors that share a storage get views that share one; a sparse tensor gets one of its parts. Confined to one
/// thread, for one operation.
class HostViews {
 public:
  /// `reason`: why the trace ends.
  explicit HostViews(lazy::FlushReason reason = lazy::FlushReason::HostOp) : reason_(reason) {}

  /// The CPU view of a spyre tensor, with its conjugate, negative and wrapped-number bits.
  at::Tensor view(const at::Tensor& tensor);

  /// The spyre side of a tensor that a CPU kernel returned: the argument itself, a view of an argument's storage, or a
  /// new tensor with the bytes copied in. Tensors that live elsewhere on purpose (undefined) are passed through.
  at::Tensor device_side(const at::Tensor& result, c10::Device device);

  /// What CPU kernels changed besides bytes: gives the spyre tensors the views' bits and sizes and, where a view was moved
  /// to host memory to grow, its bytes.
  void take_over_changes();

  std::uint64_t bytes_viewed() const { return bytes_viewed_; }

 private:
  struct Shared {
    c10::StorageImpl* device;  // kept alive by the tensors in pairs_
    c10::Storage host;
    const void* address;
  };
  struct Pair {
    at::Tensor device, host;
  };
  struct SparsePair {
    at::Tensor device, host;
    at::Tensor indices, values;  // the views that `host` began with
  };
  c10::Storage host_storage(const at::Tensor& tensor);
  at::Tensor new_device_tensor(const at::Tensor& result, c10::Device device);
  void take_over_dense_changes();
  at::Tensor sparse_view(const at::Tensor& tensor);
  at::Tensor sparse_device_side(const at::Tensor& result, c10::Device device);
  void take_over_sparse_changes();

  lazy::FlushReason reason_;
  std::vector<Shared> storages_;
  std::vector<Pair> pairs_;
  std::vector<SparsePair> sparse_pairs_;
  std::uint64_t bytes_viewed_ = 0;
};

}  // namespace spyre::engine
