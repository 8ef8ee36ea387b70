// spyre/engine/storage.h — storages that grow and shrink, and tensors that are pointed at other storages.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include "spyre/base/bytes.h"

namespace spyre::engine {

/// New memory of that size with the old content as far as it fits; views of the storage see it.
void resize_storage(c10::StorageImpl& storage, Bytes size);

/// resize_(sizes): grows the storage if need be, keeps it if it is large enough. Contiguous strides.
void resize_tensor(const at::Tensor& tensor, c10::IntArrayRef sizes);

/// Another tensor over the same storage, without autograd. Strides and offset in elements of `type`.
at::Tensor alias(const at::Tensor& tensor, c10::ScalarType type, c10::IntArrayRef sizes,
                 c10::IntArrayRef strides, std::int64_t offset);

}  // namespace spyre::engine
