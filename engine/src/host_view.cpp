// spyre/engine/host_view.cpp — one CPU storage per device storage, one CPU tensor per argument.
#include "spyre/engine/host_view.h"

#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>

#include "spyre/engine/copy.h"
#include "spyre/engine/storage.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

void copy_wrapped_number(const at::Tensor& from, const at::Tensor& to) {
  if (from.unsafeGetTensorImpl()->is_wrapped_number())
    to.unsafeGetTensorImpl()->set_wrapped_number(true);
}

void copy_bits(const at::Tensor& from, const at::Tensor& to) {
  to._set_conj(from.is_conj());
  to._set_neg(from.is_neg());
  copy_wrapped_number(from, to);
}

}  // namespace

c10::Storage HostViews::host_storage(const at::Tensor& tensor) {
  c10::StorageImpl* impl = tensor.storage().unsafeGetStorageImpl();
  const auto known = std::ranges::find(storages_, impl, &Shared::device);
  if (known != storages_.end()) return known->host;
  lazy::Buffer& buffer = buffer_of(tensor);
  void* address = buffer.size().count == 0 ? nullptr
                                           : buffer.device().host_address(
                                                 current_stream(tensor.device()), buffer, reason_);
  // Resizable, with the CPU's allocator: an out= kernel may move the view to memory of its own.
  auto host = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<std::int64_t>(impl->nbytes())),
      c10::DataPtr(address, c10::Device(c10::DeviceType::CPU)), c10::GetCPUAllocator(), true);
  storages_.push_back({.device = impl, .host = std::move(host), .address = address});
  bytes_viewed_ += tensor.nbytes();
  return storages_.back().host;
}

at::Tensor HostViews::view(const at::Tensor& tensor) {
  if (tensor.is_sparse()) return sparse_view(tensor);
  const auto known =
      std::ranges::find_if(pairs_, [&](const Pair& pair) { return pair.device.is_same(tensor); });
  if (known != pairs_.end()) return known->host;
  at::Tensor host = at::detail::make_tensor<c10::TensorImpl>(
      host_storage(tensor), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  host.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                    tensor.storage_offset());
  copy_bits(tensor, host);
  pairs_.push_back({.device = tensor, .host = host});
  return host;
}

at::Tensor HostViews::new_device_tensor(const at::Tensor& result, c10::Device device) {
  const bool dense = result.is_non_overlapping_and_dense();
  at::Tensor tensor =
      dense ? empty_strided(result.sizes(), result.strides(), result.scalar_type(), device)
            : empty(result.sizes(), result.scalar_type(), device);
  copy_from_host(result, tensor);
  copy_wrapped_number(result, tensor);
  return tensor;
}

at::Tensor HostViews::device_side(const at::Tensor& result, c10::Device device) {
  if (!result.defined() || !result.is_cpu()) return result;
  if (result.is_sparse()) return sparse_device_side(result, device);
  const auto argument =
      std::ranges::find_if(pairs_, [&](const Pair& pair) { return pair.host.is_same(result); });
  if (argument != pairs_.end()) return argument->device;
  const auto shared = std::ranges::find_if(storages_, [&](const Shared& s) {
    return s.host.unsafeGetStorageImpl() == result.storage().unsafeGetStorageImpl();
  });
  if (shared == storages_.end() || result.storage().data() != shared->address)
    return new_device_tensor(result, device);
  const auto owner = std::ranges::find_if(pairs_, [&](const Pair& pair) {
    return pair.device.storage().unsafeGetStorageImpl() == shared->device;
  });
  at::Tensor view = alias(owner->device, result.scalar_type(), result.sizes(), result.strides(),
                          result.storage_offset());
  copy_bits(result, view);
  return view;
}

void HostViews::take_over_changes() {
  take_over_dense_changes();
  take_over_sparse_changes();
}

void HostViews::take_over_dense_changes() {
  for (const Pair& pair : pairs_) {
    pair.device._set_conj(pair.host.is_conj());
    pair.device._set_neg(pair.host.is_neg());
    const auto shared =
        std::ranges::find(storages_, pair.device.storage().unsafeGetStorageImpl(), &Shared::device);
    const bool moved = pair.host.storage().data() != shared->address;
    if (!moved && pair.host.sizes() == pair.device.sizes() &&
        pair.host.strides() == pair.device.strides())
      continue;
    if (moved && pair.host.storage().nbytes() > pair.device.storage().nbytes()) {
      resize_storage(*shared->device, {pair.host.storage().nbytes()});
      shared->address = nullptr;
    }
    pair.device.unsafeGetTensorImpl()->set_sizes_and_strides(pair.host.sizes(), pair.host.strides(),
                                                             pair.host.storage_offset());
    if (moved) copy_from_host(pair.host, pair.device);
  }
}

}  // namespace spyre::engine
