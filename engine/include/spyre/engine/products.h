// spyre/engine/products.h — matrix products for composite operators.
#pragma once
#include <ATen/core/Tensor.h>

namespace spyre::engine {

/// a x b of float16 or bfloat16 with the same leading dimensions, in float32: what their chains of
/// multiply-adds hold before it would be rounded.
at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace spyre::engine
