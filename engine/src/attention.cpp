// spyre/engine/attention.cpp — scaled_dot_product_attention in plain operators, which the device runs as one chain.
//
// The query is scaled rather than keys and scores (which are, where a narrow query would round), exponentials are summed before and divided after the second product: the
// scores are walked over twice, and nothing as large as them or as keys is made. float16 and bfloat16 keep scores and
// exponentials in float32, as CPU's kernel does.
#include <ATen/Functions.h>
#include <ATen/Operators.h>
#include <ATen/ops/_scaled_dot_product_attention_math_compositeimplicitautograd_dispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "spyre/engine/error_boundary.h"
#include "spyre/engine/products.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

/// The product of two tensors of a reduced float type, in float32. The left one may come in float32: it is rounded
/// for the product, but not in derivatives, and its gradient is not rounded. In the gradient of a softmax large terms
/// cancel, and a rounded one would be most of the result.
class WideProduct : public torch::autograd::Function<WideProduct> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a,
                        const Tensor& b) {
    context->save_for_backward({a, b});
    const at::AutoDispatchBelowADInplaceOrView below;
    return wide_product(a.to(b.scalar_type()), b);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto wide = [](const Tensor& t) { return t.to(at::kFloat).transpose(-2, -1); };
    return {at::matmul(gradients[0], wide(saved[1])).to(saved[0].scalar_type()),
            at::matmul(wide(saved[0]), gradients[0]).to(saved[1].scalar_type())};
  }
};

/// Functions in C++ have no forward-mode derivative.
bool has_tangent(const Tensor& t) { return t._fw_grad(/*level=*/0).defined(); }

Tensor product(const Tensor& a, const Tensor& b) {
  if (!at::isReducedFloatingType(b.scalar_type())) return at::matmul(a, b);
  if (has_tangent(a) || has_tangent(b)) return at::matmul(a.to(at::kFloat), b.to(at::kFloat));
  return WideProduct::apply(a, b);
}

/// Whether all three have the same heads, so that no operand has to be spread. torch.compile asks with symbolic sizes.
bool is_plain(const Tensor& query, const Tensor& key, const Tensor& value) {
  const auto heads = [](const Tensor& t) { return t.sym_sizes().slice(0, t.dim() - 2); };
  const auto is_empty = [](const Tensor& t) {
    return TORCH_GUARD_OR_FALSE(t.sym_numel().sym_eq(0));
  };
  if (query.dim() < 3 || key.dim() != query.dim() || value.dim() != query.dim()) return false;
  if (is_empty(query) || is_empty(key) || is_empty(value)) return false;
  return at::isFloatingType(query.scalar_type()) && heads(query) == heads(key) &&
         heads(query) == heads(value) && query.sym_size(-1) == key.sym_size(-1) &&
         key.sym_size(-2) == value.sym_size(-2);
}

Tensor masked(const Tensor& scores, const MaybeTensor& mask, bool causal) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  if (causal) {
    const Tensor pairs = at::ones_symint({scores.sym_size(-2), scores.sym_size(-1)},
                                         scores.options().dtype(at::kBool));
    return scores.masked_fill(pairs.triu(1), kHidden);
  }
  return mask && mask->defined() ? scores.add(*mask) : scores;
}

/// The second result has the probabilities; nothing computes them unless somebody looks.
std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const MaybeTensor& mask, double dropout_p, bool is_causal,
                                     const MaybeTensor& dropout_mask, std::optional<double> scale,
                                     bool enable_gqa) {
  if (enable_gqa || dropout_mask || (is_causal && mask) || !is_plain(query, key, value))
    return at::compositeimplicitautograd::_scaled_dot_product_attention_math(
        query, key, value, mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa);
  const auto type = query.scalar_type();
  const std::int64_t width = query.sym_size(-1).guard_int(__FILE__, __LINE__);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(width)));
  // A narrow query would round what it is scaled to; its products are wide.
  const Tensor pairs = at::isReducedFloatingType(type)
                           ? product(query, key.transpose(-2, -1)).mul(factor)
                           : product(query.mul(factor), key.transpose(-2, -1));
  const Tensor scores = masked(pairs, mask, is_causal);
  // A row that is hidden as a whole has exponentials and a result of 0.
  const Tensor largest = scores.detach().amax(-1, true);
  const Tensor shift = largest.masked_fill(largest.eq(-std::numeric_limits<double>::infinity()), 0);
  const Tensor exponentials = scores.sub(shift).exp();
  const Tensor sum = exponentials.sum(-1, true);
  const Tensor share = sum.masked_fill(sum.eq(0), 1).reciprocal();
  const Tensor kept = dropout_p > 0 ? at::dropout(exponentials, dropout_p, true) : exponentials;
  return {product(kept, value).mul(share).to(type), kept.mul(share).to(type)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_attention_math", guarded<&attention>);
}

/// Its gradient is that of its operators.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_scaled_dot_product_attention_math", guarded<&attention>);
}

}  // namespace spyre::engine
