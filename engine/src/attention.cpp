// spyre/engine/attention.cpp — scaled_dot_product_attention in plain operators, which the device runs as one chain.
//
// The query is scaled rather than keys and scores (which are, where a narrow query would round), exponentials are summed
// before and divided after the second product: the scores are walked over twice, and nothing as large as them or as
// keys is made, but for keys that several heads share, which are copied. float16 and bfloat16 keep scores and exponentials in float32, as CPU's kernel does.
#include <ATen/Functions.h>
#include <ATen/Operators.h>
#include <ATen/ops/_scaled_dot_product_attention_math_compositeimplicitautograd_dispatch.h>
#include <ATen/ops/scaled_dot_product_attention_compositeimplicitautograd_dispatch.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "attention.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/products.h"

namespace spyre::engine {
namespace {

using at::Tensor;

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

}  // namespace

bool is_ordinary(const Tensor& t) {
  static constexpr c10::DispatchKeySet kTraced{
      c10::DispatchKey::Python, c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchBatched,
      c10::DispatchKey::FuncTorchGradWrapper};
  return !t.key_set().has_any(kTraced) && !c10::impl::TorchDispatchModeTLS::any_modes_set() &&
         !has_tangent(t);
}

Tensor product(const Tensor& a, const Tensor& b) {
  const auto type = b.scalar_type();
  if (!at::isReducedFloatingType(type)) return at::matmul(a, b);
  if (is_ordinary(a) && is_ordinary(b)) return WideProduct::apply(a, b);
  return at::matmul(a.to(at::kFloat), b.to(at::kFloat));
}

namespace {

/// Whether all three have one type and the same heads, so that no operand has to be spread. torch.compile asks with symbolic sizes.
bool is_plain(const Tensor& query, const Tensor& key, const Tensor& value) {
  const auto heads = [](const Tensor& t) { return t.sym_sizes().slice(0, t.dim() - 2); };
  const auto is_empty = [](const Tensor& t) {
    return TORCH_GUARD_OR_FALSE(t.sym_numel().sym_eq(0));
  };
  if (query.dim() < 3 || key.dim() != query.dim() || value.dim() != query.dim()) return false;
  if (is_empty(query) || is_empty(key) || is_empty(value)) return false;
  if (key.scalar_type() != query.scalar_type() || value.scalar_type() != query.scalar_type())
    return false;
  return at::isFloatingType(query.scalar_type()) && heads(query) == heads(key) &&
         heads(query) == heads(value) && query.sym_size(-1) == key.sym_size(-1) &&
         key.sym_size(-2) == value.sym_size(-2);
}

Tensor masked(const Tensor& scores, const MaybeTensor& mask, bool causal) {
  if (causal) return filled_above(scores, 0, -std::numeric_limits<double>::infinity());
  return mask && mask->defined() ? scores.add(*mask) : scores;
}

}  // namespace

Tensor filled_above(const Tensor& scores, std::int64_t offset, double value) {
  const Tensor pairs = at::ones_symint({scores.sym_size(-2), scores.sym_size(-1)},
                                       scores.options().dtype(at::kBool));
  return scores.masked_fill(pairs.triu(offset + 1), value);
}

Weights weights_of(const Tensor& scores) {
  const Tensor largest = scores.detach().amax(-1, true);
  const Tensor shift = largest.masked_fill(largest.eq(-std::numeric_limits<double>::infinity()), 0);
  const Tensor exponentials = scores.sub(shift).exp();
  const Tensor sum = exponentials.sum(-1, true);
  return {exponentials, sum.masked_fill(sum.eq(0), 1).reciprocal()};
}

std::tuple<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  double factor, const MaybeTensor& mask, bool causal,
                                  double dropout_p) {
  const auto type = query.scalar_type();
  // A narrow query would round what it is scaled to; its products are wide.
  const Tensor pairs = at::isReducedFloatingType(type)
                           ? product(query, key.transpose(-2, -1)).mul(factor)
                           : product(query.mul(factor), key.transpose(-2, -1));
  auto [weights, share] = weights_of(masked(pairs, mask, causal));
  if (dropout_p > 0) weights = at::dropout(weights, dropout_p, true);
  return {product(weights, value).mul(share).to(type), weights.mul(share).to(type)};
}

namespace {

/// Whether several heads of the query share one of `t`.
bool is_grouped(const Tensor& query, const Tensor& t) {
  if (query.dim() < 3 || t.dim() != query.dim()) return false;
  return TORCH_GUARD_OR_FALSE(t.sym_size(-3).sym_gt(0)) &&
         TORCH_GUARD_OR_FALSE((query.sym_size(-3) % t.sym_size(-3)).sym_eq(0));
}

bool shares_heads(const Tensor& query, const Tensor& key, const Tensor& value) {
  return is_grouped(query, key) && is_grouped(query, value);
}

/// Each head as often as heads of the query share it.
Tensor spread(const Tensor& t, const Tensor& query) {
  const Tensor grouped = t.unsqueeze(-3);
  c10::SymDimVector sizes(grouped.sym_sizes());
  sizes[sizes.size() - 3] = query.sym_size(-3) / t.sym_size(-3);
  return grouped.expand_symint(sizes).flatten(-4, -3);
}

double factor_of(const Tensor& query, std::optional<double> scale) {
  const std::int64_t width = query.sym_size(-1).guard_int(__FILE__, __LINE__);
  return scale.value_or(1 / std::sqrt(static_cast<double>(width)));
}

/// The second result has the probabilities; nothing computes them unless somebody looks.
std::tuple<Tensor, Tensor> math(const Tensor& query, const Tensor& key, const Tensor& value,
                                const MaybeTensor& mask, double dropout_p, bool is_causal,
                                const MaybeTensor& dropout_mask, std::optional<double> scale,
                                bool enable_gqa) {
  if (enable_gqa && shares_heads(query, key, value))
    return math(query, spread(key, query), spread(value, query), mask, dropout_p, is_causal,
                dropout_mask, scale, false);
  if (enable_gqa || dropout_mask || (is_causal && mask) || !is_plain(query, key, value))
    return at::compositeimplicitautograd::_scaled_dot_product_attention_math(
        query, key, value, mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa);
  return attend(query, key, value, factor_of(query, scale), mask, is_causal, dropout_p);
}

/// Causal attention has a way of its own, where nobody can ask for the probabilities.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const MaybeTensor& mask, double dropout_p, bool is_causal,
                 std::optional<double> scale, bool enable_gqa) {
  if (enable_gqa && shares_heads(query, key, value))
    return attention(query, spread(key, query), spread(value, query), mask, dropout_p, is_causal,
                     scale, false);
  const bool together = key.device() == query.device() && value.device() == query.device();
  // Dropout draws the same numbers whether or not gradients are asked for: checkpoints rely on it.
  if (is_causal && !mask && dropout_p == 0 && together && is_plain(query, key, value))
    if (const auto found = attend_causally(query, key, value, factor_of(query, scale)))
      return *found;
  return at::compositeimplicitautograd::scaled_dot_product_attention(
      query, key, value, mask, dropout_p, is_causal, scale, enable_gqa);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_attention_math", guarded<&math>);
  m.impl("scaled_dot_product_attention", guarded<&attention>);
}

/// Their gradients are those of their operators.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_scaled_dot_product_attention_math", guarded<&math>);
  m.impl("scaled_dot_product_attention", guarded<&attention>);
}

}  // namespace spyre::engine
