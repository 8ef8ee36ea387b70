// spyre/engine/rrelu.cpp — a slope drawn for each negative element, recorded.
#include <ATen/Operators.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

#include "spyre/engine/error_boundary.h"
#include "spyre/engine/fallback.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using c10::Scalar;
using Generator = std::optional<at::Generator>;

/// The host raises CPU's errors, and serves layouts and types that the device does not have.
bool is_recorded(const Tensor& self, const Tensor& noise) {
  return self.is_privateuseone() && noise.is_privateuseone() && self.is_floating_point() &&
         native_type(self.scalar_type()) && noise.scalar_type() == self.scalar_type() &&
         noise.sizes() == self.sizes();
}

Tensor slopes(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
              const Generator& generator) {
  const Tensor drawn = at::empty_like(self).uniform_(lower.toDouble(), upper.toDouble(), generator);
  return noise.copy_(at::where(self.le(0), drawn, at::ones_like(self)));
}

Tensor rrelu_with_noise(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
                        bool training, Generator generator) {
  if (!is_recorded(self, noise))
    return on_host<ATEN_OP(rrelu_with_noise)>::call(self, noise, lower, upper, training,
                                                    std::nullopt);
  if (training) return self.mul(slopes(self, noise, lower, upper, generator));
  return at::leaky_relu(self, (lower.toDouble() + upper.toDouble()) / 2);
}

Tensor& rrelu_with_noise_in_place(Tensor& self, Tensor& noise, const Scalar& lower,
                                  const Scalar& upper, bool training, Generator generator) {
  if (!is_recorded(self, noise))
    return on_host<ATEN_OP(rrelu_with_noise_)>::call(self, noise, lower, upper, training,
                                                     std::nullopt);
  if (training) return self.mul_(slopes(self, noise, lower, upper, generator));
  return at::leaky_relu_(self, (lower.toDouble() + upper.toDouble()) / 2);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("rrelu_with_noise", guarded<&rrelu_with_noise>);
  m.impl("rrelu_with_noise_", guarded<&rrelu_with_noise_in_place>);
}

}  // namespace spyre::engine
