// spyre/engine/iota.h — pointwise operations over the positions of their results.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "spyre/base/dims.h"
#include "spyre/engine/recorder.h"

namespace spyre::engine {

/// An integer at each position: first + sum(coordinate * stride).
struct Iota {
  std::int64_t first = 0;
  Dims strides;  // one for each dimension of the result
  /// Positions in row-major order, whatever the memory layout.
  static Iota row_major(c10::IntArrayRef sizes);
};

/// out = op(iota, numbers...). Numbers are in the compute type.
void record_iota(const PointwiseOp& op, const Iota& iota, Operands numbers, const at::Tensor& out);

}  // namespace spyre::engine
