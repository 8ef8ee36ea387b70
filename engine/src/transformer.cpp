// spyre/engine/transformer.cpp — the whole layers that PyTorch's transformer modules call in inference, written with
// plain operators, which the device records and runs as chains.
//
// Masks, weights of attention as a result, and attention between different sequences are rare there: those calls take
// PyTorch's own kernels, which are made of ordinary operators too; only their fused pieces are written out here.
#include <ATen/Functions.h>
#include <ATen/Operators.h>
#include <ATen/ops/_native_multi_head_attention_native.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_native.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "spyre/engine/error_boundary.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

/// Packed projections of one sequence [batch, tokens, width], attention, and the projection back.
Tensor self_attention(const Tensor& x, std::int64_t heads, const Tensor& qkv_weight,
                      const Tensor& qkv_bias, const Tensor& proj_weight, const Tensor& proj_bias) {
  const std::int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2);
  const auto qkv = at::linear(x, qkv_weight, qkv_bias)
                       .view({batch, tokens, 3, heads, width / heads})
                       .permute({2, 0, 3, 1, 4});
  const Tensor scores = at::matmul(qkv.select(0, 0), qkv.select(0, 1).transpose(-2, -1)) *
                        (1 / std::sqrt(static_cast<double>(width / heads)));
  const Tensor mixed = at::matmul(at::softmax(scores, -1), qkv.select(0, 2));
  return at::linear(mixed.transpose(1, 2).reshape({batch, tokens, width}), proj_weight, proj_bias);
}

bool is_plain_sequence(const Tensor& x, std::int64_t width, std::int64_t heads) {
  return !x.is_nested() && x.dim() == 3 && x.size(2) == width && x.numel() != 0 &&
         width % heads == 0;
}

std::tuple<Tensor, Tensor> native_multi_head_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t embed_dim,
    std::int64_t num_head, const Tensor& qkv_weight, const Tensor& qkv_bias,
    const Tensor& proj_weight, const Tensor& proj_bias, const MaybeTensor& mask, bool need_weights,
    bool average_attn_weights, std::optional<std::int64_t> mask_type) {
  const bool one_sequence = query.is_same(key) && key.is_same(value);
  if (need_weights || (mask && mask->defined()) || !one_sequence ||
      !is_plain_sequence(query, embed_dim, num_head))
    return at::native::native_multi_head_attention_cpu(
        query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
        need_weights, average_attn_weights, mask_type);
  return {self_attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias), Tensor()};
}

Tensor transformer_encoder_layer(const Tensor& src, std::int64_t embed_dim, std::int64_t num_heads,
                                 const Tensor& qkv_weight, const Tensor& qkv_bias,
                                 const Tensor& proj_weight, const Tensor& proj_bias, bool use_gelu,
                                 bool norm_first, double eps, const Tensor& norm_weight_1,
                                 const Tensor& norm_bias_1, const Tensor& norm_weight_2,
                                 const Tensor& norm_bias_2, const Tensor& ffn_weight_1,
                                 const Tensor& ffn_bias_1, const Tensor& ffn_weight_2,
                                 const Tensor& ffn_bias_2, const MaybeTensor& mask,
                                 std::optional<std::int64_t> mask_type) {
  if ((mask && mask->defined()) || !is_plain_sequence(src, embed_dim, num_heads))
    return at::native::transformer_encoder_layer_forward(
        src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu,
        norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1,
        ffn_bias_1, ffn_weight_2, ffn_bias_2, mask, mask_type);
  const auto norm = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return at::layer_norm(x, {embed_dim}, weight, bias, eps);
  };
  const auto attend = [&](const Tensor& x) {
    return self_attention(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias);
  };
  const auto feed_forward = [&](const Tensor& x) {
    const Tensor hidden = at::linear(x, ffn_weight_1, ffn_bias_1);
    return at::linear(use_gelu ? at::gelu(hidden) : at::relu(hidden), ffn_weight_2, ffn_bias_2);
  };
  if (norm_first) {
    const Tensor x = src + attend(norm(src, norm_weight_1, norm_bias_1));
    return x + feed_forward(norm(x, norm_weight_2, norm_bias_2));
  }
  const Tensor x = norm(src + attend(src), norm_weight_1, norm_bias_1);
  return norm(x + feed_forward(x), norm_weight_2, norm_bias_2);
}

/// The bias is added, heads are split, the query is scaled.
std::tuple<Tensor, Tensor, Tensor> transform_bias_rescale_qkv(const Tensor& qkv, const Tensor& bias,
                                                              std::int64_t heads) {
  constexpr std::int64_t kParts = 3;
  const std::int64_t batch = qkv.size(0), length = qkv.size(1), width = qkv.size(2) / kParts;
  const Tensor parts =
      qkv.add(bias).view({batch, length, kParts, heads, width / heads}).permute({2, 0, 3, 1, 4});
  const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
  return {parts[0].mul(scale).contiguous(), parts[1].contiguous(), parts[2].contiguous()};
}

/// The mask as it broadcasts over [batch, heads, queries, keys].
Tensor spread_mask(const Tensor& mask, const Tensor& scores, std::optional<std::int64_t> kind) {
  enum Kind : std::int64_t { OfPairs, OfKeys };
  const auto check = [&](std::int64_t rows, const char* shape) {
    TORCH_CHECK(mask.dim() == 2 && mask.size(0) == rows && mask.size(1) == scores.size(2),
                "For mask_type == ", *kind, " mask shape should be ", shape);
  };
  if (kind == OfPairs) {
    check(scores.size(2), "(L, L)");
    return mask.view({1, 1, mask.size(0), mask.size(1)});
  }
  if (kind == OfKeys) {
    check(scores.size(0), "(B, L)");
    return mask.view({mask.size(0), 1, 1, mask.size(1)});
  }
  return mask;
}

Tensor masked_softmax(const Tensor& self, const Tensor& mask, std::optional<std::int64_t> dim,
                      std::optional<std::int64_t> kind) {
  TORCH_CHECK(mask.scalar_type() == c10::kBool, "Mask should be a boolean tensor");
  const bool whole = mask.dim() == self.dim() || self.dim() != 4;
  const Tensor spread = whole ? mask : spread_mask(mask, self, kind);
  const Tensor scores = self.masked_fill(spread, -std::numeric_limits<double>::infinity());
  return at::softmax(scores, dim.value_or(self.dim() - 1));
}

Tensor addmm_activation(const Tensor& self, const Tensor& a, const Tensor& b,
                        const c10::Scalar& beta, const c10::Scalar& alpha, bool use_gelu) {
  const Tensor sum = at::addmm(self, a, b, beta, alpha);
  return use_gelu ? at::gelu(sum) : at::relu(sum);
}

/// nn.TransformerEncoder asks whether to go on with nested tensors, which the device lacks.
bool never_nested(const Tensor&, const Tensor&) { return false; }

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_native_multi_head_attention", guarded<&native_multi_head_attention>);
  m.impl("_transformer_encoder_layer_fwd", guarded<&transformer_encoder_layer>);
  m.impl("_transform_bias_rescale_qkv", guarded<&transform_bias_rescale_qkv>);
  m.impl("_masked_softmax", guarded<&masked_softmax>);
  m.impl("_addmm_activation", guarded<&addmm_activation>);
  m.impl("_nested_tensor_from_mask_left_aligned", guarded<&never_nested>);
}

}  // namespace spyre::engine
