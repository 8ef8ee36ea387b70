// spyre/engine/sparse_host_view.cpp — the CPU side of sparse tensors: views of their indices and values.
#include "sparse_tensor.h"
#include "spyre/engine/host_view.h"

namespace spyre::engine {
namespace {

bool same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

at::Tensor HostViews::sparse_view(const at::Tensor& tensor) {
  for (const SparsePair& pair : sparse_pairs_)
    if (pair.device.is_same(tensor)) return pair.host;
  const at::Tensor indices = view(sparse_impl(tensor).indices());
  const at::Tensor values = view(sparse_impl(tensor).values());
  sparse_pairs_.push_back({.device = tensor,
                           .host = sparse_like(tensor, indices, values),
                           .indices = indices,
                           .values = values});
  return sparse_pairs_.back().host;
}

at::Tensor HostViews::sparse_device_side(const at::Tensor& result, c10::Device device) {
  for (const SparsePair& pair : sparse_pairs_)
    if (pair.host.is_same(result)) return pair.device;
  return sparse_like(result, device_side(sparse_impl(result).indices(), device),
                     device_side(sparse_impl(result).values(), device));
}

void HostViews::take_over_sparse_changes() {
  for (const SparsePair& pair : sparse_pairs_) {
    const at::SparseTensorImpl& host = sparse_impl(pair.host);
    at::SparseTensorImpl& device = sparse_impl(pair.device);
    if (!same_memory(host.indices(), pair.indices) || !same_memory(host.values(), pair.values)) {
      device.raw_resize_(host.sparse_dim(), host.dense_dim(), host.sizes());
      device.set_indices_and_values_unsafe(device_side(host.indices(), pair.device.device()),
                                           device_side(host.values(), pair.device.device()));
    }
    device.set_coalesced(host.coalesced());
  }
}

}  // namespace spyre::engine
