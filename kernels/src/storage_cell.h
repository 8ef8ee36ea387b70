// spyre/kernels/storage_cell.h — one element of memory to and from an interpreter cell.
#pragma once
#include <cstddef>
#include <cstdint>

#include "spyre/base/dtype.h"

namespace spyre::kernels {

/// The element at `address` as lane bits: small integers extended to int32, float16 and bfloat16 to float32.
std::uint64_t load_cell(DType t, const std::byte* address);
/// Writes a cell that already holds a value of type `t`.
void store_cell(DType t, std::byte* address, std::uint64_t cell);

}  // namespace spyre::kernels
