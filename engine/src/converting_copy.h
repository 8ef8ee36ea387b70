// spyre/engine/src/converting_copy.h — copies that the device's own cannot do: CPU's, as a library operation.
#pragma once
#include <ATen/core/Tensor.h>

namespace spyre::engine {

/// Records source -> target, with the conversion of types and of conjugate and negative bits that CPU does. False if
/// the copy has to run at once: it warns, or both share memory.
bool record_converting_copy(const at::Tensor& source, const at::Tensor& target);

}  // namespace spyre::engine
