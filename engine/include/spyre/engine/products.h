// spyre/engine/products.h — matrix products for composite operators.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "spyre/kernels/product_call.h"

namespace spyre::engine {

/// a x b of float16 or bfloat16 with the same leading dimensions, in float32: what their chains of
/// multiply-adds hold before it would be rounded.
at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b);

/// a x b with the same leading dimensions, of which a causal attention does not need everything: in
/// float32 if they are float16 or bfloat16. None if the product is not one of kernels::Product's.
std::optional<at::Tensor> causal_product(const at::Tensor& a, const at::Tensor& b,
                                         kernels::Causal causal);

}  // namespace spyre::engine
