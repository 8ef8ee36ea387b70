// python/csrc/custom_ops/normalization.cpp — spyre::layer_norm and the three operators that it is on a card.
//
// A card finds both moments of a row in one pass: the mean, and the mean of the squares.
#include <ATen/Functions.h>
#include <c10/core/ScalarType.h>
#include <torch/library.h>

#include <optional>

namespace spyre::python {
namespace {

using at::Tensor;
using Optional = const std::optional<Tensor>&;

/// Moments and what follows from them are float32 at least.
c10::ScalarType working_type(const Tensor& x) {
  return c10::isReducedFloatingType(x.scalar_type()) ? c10::kFloat : x.scalar_type();
}

void check_one_dimension(const char* name, c10::SymIntArrayRef normalized_shape) {
  TORCH_CHECK_VALUE(normalized_shape.size() == 1, name,
                    ": a card normalizes over the last dimension; got a normalized_shape of ",
                    normalized_shape.size(), " dimensions");
}

/// [..., n] -> [..., 2]: the sums of the values and of their squares, times `scale`.
Tensor exx2(const Tensor& x, double scale, bool use_zero_mean) {
  const Tensor wide = x.to(working_type(x));
  const Tensor squares = wide.mul(wide).sum(-1).mul(scale);
  const Tensor mean = use_zero_mean ? at::zeros_like(squares) : wide.sum(-1).mul(scale);
  return at::stack({mean, squares}, -1);
}

/// Of exx2's result: 1 / sqrt(variance + eps), [..., 1].
Tensor layernormscale(const Tensor& moments, double eps) {
  const Tensor mean = moments.narrow(-1, 0, 1), squares = moments.narrow(-1, 1, 1);
  return squares.sub(mean.mul(mean)).clamp_min(0).add(eps).rsqrt();
}

Tensor layernormnorm(const Tensor& x, const Tensor& moments, const Tensor& scale, Optional weight,
                     Optional bias) {
  Tensor result = x.to(working_type(x)).sub(moments.narrow(-1, 0, 1)).mul(scale);
  if (weight) result = result.mul(*weight);
  if (bias) result = result.add(*bias);
  return result.to(x.scalar_type());
}

Tensor layer_norm(const Tensor& x, c10::SymIntArrayRef normalized_shape, Optional weight,
                  Optional bias, double eps) {
  check_one_dimension("spyre::layer_norm", normalized_shape);
  TORCH_CHECK_VALUE(x.dim() > 0 && x.sym_size(-1) == normalized_shape[0],
                    "spyre::layer_norm: expected a last dimension of ", normalized_shape[0],
                    ", got a tensor of ", x.sym_sizes());
  const double share = 1.0 / static_cast<double>(normalized_shape[0].guard_int(__FILE__, __LINE__));
  const Tensor moments = exx2(x, share, false);
  return layernormnorm(x, moments, layernormscale(moments, eps), weight, bias);
}

Tensor rms_norm(const Tensor& x, c10::SymIntArrayRef normalized_shape, Optional weight,
                double eps) {
  check_one_dimension("spyre::rms_norm", normalized_shape);
  return at::rms_norm_symint(x, normalized_shape, weight, eps);
}

TORCH_LIBRARY_FRAGMENT(spyre, m) {
  m.def("exx2(Tensor x, float exx2Scale, bool useZeroMean) -> Tensor", &exx2);
  m.def("layernormscale(Tensor x, float eps) -> Tensor", &layernormscale);
  m.def(
      "layernormnorm(Tensor x, Tensor mean, Tensor norm_mean, Tensor? weight, Tensor? bias) -> "
      "Tensor",
      &layernormnorm);
  m.def(
      "layer_norm(Tensor x, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
      "float eps=1e-05) -> Tensor",
      &layer_norm);
  m.def(
      "rms_norm(Tensor x, SymInt[] normalized_shape, Tensor? weight=None, float eps=1e-05) -> "
      "Tensor",
      &rms_norm);
}

}  // namespace
}  // namespace spyre::python
