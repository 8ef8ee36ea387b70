// python/csrc/custom_ops/elementwise.cpp — upstream's activations and their like, as PyTorch's operators.
#include <ATen/Functions.h>
#include <torch/library.h>

#include <optional>
#include <string_view>

namespace spyre::python {
namespace {

using at::Tensor;
using Number = const std::optional<c10::Scalar>&;

Tensor softplus(const Tensor& input, double beta, double threshold) {
  return at::softplus(input, beta, threshold);
}
Tensor gelu(const Tensor& input, std::string_view approximate) {
  return at::gelu(input, approximate);
}
Tensor silu(const Tensor& input) { return at::silu(input); }
Tensor clamp(const Tensor& input, Number min, Number max) { return at::clamp(input, min, max); }
Tensor logical_not(const Tensor& input) { return at::logical_not(input); }

TORCH_LIBRARY_FRAGMENT(spyre, m) {
  m.def("softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor", &softplus);
  m.def("gelu(Tensor input, str approximate=\"none\") -> Tensor", &gelu);
  m.def("silu(Tensor input) -> Tensor", &silu);
  m.def("clamp(Tensor input, Scalar? min=None, Scalar? max=None) -> Tensor", &clamp);
  m.def("logical_not(Tensor input) -> Tensor", &logical_not);
}

}  // namespace
}  // namespace spyre::python
