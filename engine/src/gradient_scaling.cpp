// spyre/engine/gradient_scaling.cpp — the two operators of torch.amp.GradScaler, recorded: no step waits for them.
#include <ATen/Operators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

#include <algorithm>

#include "spyre/engine/error_boundary.h"
#include "spyre/engine/fallback.h"

namespace spyre::engine {
namespace {

using at::Tensor;

bool is_float_number(const Tensor& t) {
  return t.is_privateuseone() && t.scalar_type() == at::kFloat && t.numel() == 1;
}

/// Divides gradients by the scale; `found_inf` becomes 1 if any of them is infinite or no number. The rest runs on the
/// host, which also says what is wrong with other arguments.
void check_and_unscale(at::TensorList gradients, Tensor& found_inf, const Tensor& inv_scale) {
  const bool floats = std::ranges::all_of(gradients, [](const Tensor& gradient) {
    return gradient.is_privateuseone() && gradient.is_floating_point();
  });
  if (!floats || !is_float_number(found_inf) || !is_float_number(inv_scale))
    return on_host<ATEN_OP(_amp_foreach_non_finite_check_and_unscale_)>::call(gradients, found_inf,
                                                                              inv_scale);
  for (const Tensor& gradient : gradients) {
    const Tensor bad = at::isfinite(gradient).logical_not().any().to(at::kFloat);
    found_inf.copy_(at::maximum(found_inf, bad.reshape_as(found_inf)));
    // In float32 at least: a scale's inverse may be less than float16's smallest number.
    const auto type = at::promote_types(gradient.scalar_type(), at::kFloat);
    gradient.copy_(gradient.to(type).mul(inv_scale.to(type).reshape({})));
  }
}

/// After a step: a smaller scale if it had no finite gradients, a larger one after `interval` steps that had.
Tensor& update_scale(Tensor& scale, Tensor& growth_tracker, const Tensor& found_inf, double growth,
                     double backoff, std::int64_t interval) {
  const bool known = is_float_number(scale) && is_float_number(found_inf) &&
                     growth_tracker.is_privateuseone() && growth_tracker.numel() == 1 &&
                     growth_tracker.scalar_type() == at::kInt;
  if (!known)
    return on_host<ATEN_OP(_amp_update_scale_)>::call(scale, growth_tracker, found_inf, growth,
                                                      backoff, interval);
  const Tensor failed = found_inf.ne(0).reshape_as(scale);
  const Tensor steps = growth_tracker.add(1).reshape_as(scale);
  const Tensor due = steps.eq(interval);
  // Factors are doubles, on CPU as here.
  const Tensor grown = scale.to(at::kDouble).mul(growth).to(at::kFloat);
  const Tensor shrunk = scale.to(at::kDouble).mul(backoff).to(at::kFloat);
  const Tensor next = at::where(at::logical_and(due, at::isfinite(grown)), grown, scale);
  scale.copy_(at::where(failed, shrunk, next));
  growth_tracker.copy_(steps.masked_fill(failed.logical_or(due), 0).reshape_as(growth_tracker));
  return scale;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_amp_foreach_non_finite_check_and_unscale_", guarded<&check_and_unscale>);
  m.impl("_amp_update_scale_", guarded<&update_scale>);
}

}  // namespace spyre::engine
