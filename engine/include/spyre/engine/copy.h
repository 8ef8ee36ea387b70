// spyre/engine/copy.h — copies between any two tensors of which at least one lives on the device.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "spyre/base/bytes.h"
#include "spyre/lazy/buffer.h"

namespace spyre::engine {

/// target = source, any layout and type; sizes must be equal. Returns when the source may be reused.
void copy_from_host(const at::Tensor& source, const at::Tensor& target);
/// A CPU tensor with the values, sizes and type of a spyre tensor.
at::Tensor host_copy(const at::Tensor& tensor);
/// The value of an int64 tensor of one element, which decides how large something will be: waits for it. Nothing with
/// arithmetic switched off, where nobody counts.
std::optional<std::int64_t> read_count(const at::Tensor& count);

/// The first `length` bytes of a buffer of that device, on it.
void copy_bytes(c10::Device device, lazy::Buffer& source, lazy::Buffer& target, Bytes length);

}  // namespace spyre::engine
