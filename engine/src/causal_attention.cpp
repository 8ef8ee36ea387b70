// spyre/engine/causal_attention.cpp — causal attention without what it hides.
//
// A block of queries meets the keys that its last one sees; products leave out more, by blocks of rows
// (kernels::Causal) where these are rows of the left operand or of the result. Gradients of long sequences compute the
// weights of a block again rather than keep them: nothing as large as all of the scores is ever made.
#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "attention.h"
#include "spyre/engine/products.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using Matrix = kernels::Causal::Matrix;

constexpr std::int64_t kQueries = 256;  // of a block: the rows of some panels

/// Queries [first, last), which see the first `seen` keys.
struct Block {
  std::int64_t first = 0, last = 0, seen = 0;

  Tensor queries(const Tensor& t) const { return t.slice(-2, first, last); }
  Tensor keys(const Tensor& t) const { return t.slice(-2, 0, seen); }
};

std::vector<Block> blocks_of(const Tensor& query, const Tensor& key) {
  const std::int64_t queries = query.size(-2), keys = key.size(-2),
                     count = (queries + kQueries - 1) / kQueries;
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t last = queries * (i + 1) / count;
    blocks.push_back({queries * i / count, last, std::min(last, keys)});
  }
  return blocks;
}

/// As product(), without what `causal` leaves out.
Tensor block_product(const Tensor& a, const Tensor& b, const kernels::Causal& causal) {
  if (auto result = causal_product(a, b, causal)) return *result;
  const Tensor whole = product(a, b);
  if (causal.matrix != Matrix::Result) return whole;
  return filled_above(whole, causal.offset, causal.hidden);
}

Weights weights_in(const Block& block, const Tensor& query, const Tensor& key, double factor) {
  const bool narrow = at::isReducedFloatingType(query.scalar_type());
  const Tensor left = block.queries(query), right = block.keys(key).transpose(-2, -1);
  const kernels::Causal causal{Matrix::Result, block.first};
  if (!narrow) return weights_of(block_product(left.mul(factor), right, causal));
  return weights_of(block_product(left, right, causal).mul(factor));
}

Tensor blockwise(const Tensor& query, const Tensor& key, const Tensor& value, double factor) {
  const auto type = query.scalar_type();
  std::vector<Tensor> results;
  for (const Block& block : blocks_of(query, key)) {
    const auto [exponentials, share] = weights_in(block, query, key, factor);
    const Tensor sums =
        block_product(exponentials.to(type), block.keys(value), {Matrix::Left, block.first});
    results.push_back(sums.mul(share).to(type));
  }
  return results.size() == 1 ? results[0] : at::cat(results, -2);
}

struct Gradients {
  Tensor query, key, value;
};

/// All in float32 or float64: in the gradient of a softmax large terms cancel.
Gradients blockwise_gradients(const Tensor& query, const Tensor& key, const Tensor& value,
                              double factor, const Tensor& gradient) {
  std::vector<Tensor> of_query;
  Tensor of_key = at::zeros_like(key), of_value = at::zeros_like(value);
  for (const Block& block : blocks_of(query, key)) {
    const auto [exponentials, share] = weights_in(block, query, key, factor);
    const Tensor weights = exponentials.mul(share);
    const Tensor of_result = block.queries(gradient);
    const Tensor of_weights = block_product(of_result, block.keys(value).transpose(-2, -1),
                                            {Matrix::Result, block.first, 0});
    const Tensor of_scores =
        weights.mul(of_weights.sub(weights.mul(of_weights).sum(-1, true))).mul(factor);
    of_query.push_back(block_product(of_scores, block.keys(key), {Matrix::Left, block.first}));
    block.keys(of_value).add_(at::matmul(weights.transpose(-2, -1), of_result));
    block.keys(of_key).add_(at::matmul(of_scores.transpose(-2, -1), block.queries(query)));
  }
  return {of_query.size() == 1 ? of_query[0] : at::cat(of_query, -2), of_key, of_value};
}

/// Its gradient, if that is itself to be differentiated, is the one of plain operators.
class CausalAttention : public torch::autograd::Function<CausalAttention> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& query,
                        const Tensor& key, const Tensor& value, double factor) {
    context->save_for_backward({query, key, value});
    context->saved_data["factor"] = factor;
    const at::AutoDispatchBelowADInplaceOrView below;
    return blockwise(query, key, value, factor);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const double factor = context->saved_data["factor"].toDouble();
    if (at::GradMode::is_enabled()) return plain_backward(saved, factor, gradients[0]);
    const auto type = saved[0].scalar_type();
    const auto wide = [&](const Tensor& t) {
      return at::isReducedFloatingType(type) ? t.to(at::kFloat) : t;
    };
    const Gradients found = blockwise_gradients(wide(saved[0]), wide(saved[1]), wide(saved[2]),
                                                factor, wide(gradients[0]));
    return {found.query.to(type), found.key.to(type), found.value.to(type), {}};
  }

 private:
  static torch::autograd::variable_list plain_backward(const torch::autograd::variable_list& saved,
                                                       double factor, const Tensor& gradient) {
    // Views: gradients end there, also where one operand is another one or was computed from it.
    torch::autograd::variable_list own;
    for (const Tensor& t : saved) own.push_back(t.view_as(t));
    const Tensor values = std::get<0>(attend(own[0], own[1], own[2], factor, {}, true, 0));
    torch::autograd::variable_list inputs, found(saved.size() + 1);
    for (const Tensor& t : own)
      if (t.requires_grad()) inputs.push_back(t);
    const auto of_inputs = torch::autograd::grad({values}, inputs, {gradient}, true, true);
    for (std::size_t i = 0, next = 0; i < own.size(); ++i)
      if (own[i].requires_grad()) found[i] = of_inputs[next++];
    return found;
  }
};

}  // namespace

std::optional<Tensor> attend_causally(const Tensor& query, const Tensor& key, const Tensor& value,
                                      double factor) {
  if (!is_ordinary(query) || !is_ordinary(key) || !is_ordinary(value)) return std::nullopt;
  // Minus infinity has to stay what it is when narrow products are scaled.
  if (!(factor > 0)) return std::nullopt;
  const bool differentiable = query.requires_grad() || key.requires_grad() || value.requires_grad();
  if (!at::GradMode::is_enabled() || !differentiable) return blockwise(query, key, value, factor);
  if (query.size(-2) <= kQueries) return std::nullopt;
  return CausalAttention::apply(query, key, value, factor);
}

}  // namespace spyre::engine
