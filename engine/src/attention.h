// spyre/engine/attention.h — the parts of scaled_dot_product_attention.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace spyre::engine {

using MaybeTensor = std::optional<at::Tensor>;

/// Whether nothing traces, transforms or differentiates forward what is done with the tensor: what is recorded of it
/// need not pass the dispatcher then.
bool is_ordinary(const at::Tensor& t);

/// a x b, in float32 where b is float16 or bfloat16. `a` may come in float32: it is rounded to b's type for the product.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// Scores with `value` in the columns c of row r with c > r + offset.
at::Tensor filled_above(const at::Tensor& scores, std::int64_t offset, double value);

struct Weights {
  at::Tensor exponentials, share;  // the second: 1 / the sum of a row of the first
};
/// Of scores [..., queries, keys]. A row that is hidden as a whole has exponentials and a result of 0.
Weights weights_of(const at::Tensor& scores);

/// What all queries [..., queries, width] make of all values, and with what weights, in plain operators.
std::tuple<at::Tensor, at::Tensor> attend(const at::Tensor& query, const at::Tensor& key,
                                          const at::Tensor& value, double factor,
                                          const MaybeTensor& mask, bool causal, double dropout_p);
/// Causally, block by block of queries, with what each of them sees. None where operators are to be seen, where the
/// factor is not positive, or where the weights of a short sequence are better kept for its gradient than computed again.
std::optional<at::Tensor> attend_causally(const at::Tensor& query, const at::Tensor& key,
                                          const at::Tensor& value, double factor);

}  // namespace spyre::engine
