// python/csrc/custom_ops/products.cpp — products, convolutions, attention's mask, and 8-bit floats for them.
#include <ATen/Functions.h>
#include <torch/library.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace spyre::python {
namespace {

using at::Tensor;

constexpr double kLargestFloat8 = 448;

Tensor batched_matmul(const Tensor& x, const Tensor& y) { return at::matmul(x, y); }

Tensor conv2d_with_bias(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, c10::SymIntArrayRef stride,
                        c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                        c10::SymInt groups) {
  return at::conv2d_symint(input, weight, bias, stride, padding, dilation, std::move(groups));
}

Tensor conv2d(const Tensor& input, const Tensor& weight, c10::SymIntArrayRef stride,
              c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, c10::SymInt groups) {
  return conv2d_with_bias(input, weight, {}, stride, padding, dilation, std::move(groups));
}

/// The patches of an image as columns.
Tensor unfold(const Tensor& input, c10::IntArrayRef kernel_size, at::OptionalIntArrayRef dilation,
              at::OptionalIntArrayRef padding, at::OptionalIntArrayRef stride) {
  const std::vector<std::int64_t> ones{1, 1}, zeros{0, 0};
  return at::im2col(input, kernel_size, dilation.value_or(c10::IntArrayRef(ones)),
                    padding.value_or(c10::IntArrayRef(zeros)),
                    stride.value_or(c10::IntArrayRef(ones)));
}

Tensor causal_mask(c10::SymInt queries, c10::SymInt keys, c10::ScalarType dtype,
                   c10::Device device) {
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  return at::full_symint({1, 1, std::move(queries), std::move(keys)}, kMasked, options).triu(1);
}

Tensor as_float8(const Tensor& input) { return input.to(c10::kFloat8_e4m3fn); }

/// float8_e4m3fn of input / scale, within its range.
Tensor quantize(const Tensor& input, const Tensor& scale) {
  return as_float8(input.mul(scale.reciprocal()).clamp(-kLargestFloat8, kLargestFloat8));
}

Tensor dequantize(const Tensor& input, const Tensor& scale) {
  return input.to(c10::kHalf).mul(scale);
}

/// Of 8-bit floats, added in float32 and rounded once.
Tensor scaled_mm(const Tensor& mat1, const Tensor& mat2, std::optional<c10::ScalarType> out_dtype) {
  return mat1.to(c10::kFloat).mm(mat2.to(c10::kFloat)).to(out_dtype.value_or(c10::kHalf));
}

TORCH_LIBRARY_FRAGMENT(spyre, m) {
  m.def("batched_matmul(Tensor x, Tensor y) -> Tensor", &batched_matmul);
  m.def(
      "conv2d(Tensor input, Tensor weight, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
      "SymInt groups) -> Tensor",
      &conv2d);
  m.def(
      "conv2d_with_bias(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
      "padding, SymInt[] dilation, SymInt groups) -> Tensor",
      &conv2d_with_bias);
  m.def(
      "unfold(Tensor input, int[] kernel_size, int[]? dilation=None, int[]? padding=None, int[]? "
      "stride=None) -> Tensor",
      &unfold);
  m.def("causal_mask(SymInt seqlen_q, SymInt seqlen_kv, ScalarType dtype, Device device) -> Tensor",
        &causal_mask);
  m.def("qfp8ch(Tensor input) -> Tensor", &as_float8);
  m.def("qfp8wt(Tensor input) -> Tensor", &as_float8);
  m.def("quantize_fp8_with_scale(Tensor input, Tensor scale) -> Tensor", &quantize);
  m.def("quantize_weight_fp8_with_scale(Tensor input, Tensor scale) -> Tensor", &quantize);
  m.def("dequantize_fp8_with_scale(Tensor input, Tensor scale) -> Tensor", &dequantize);
  m.def("scaled_mm(Tensor mat1, Tensor mat2, ScalarType? out_dtype=None) -> Tensor", &scaled_mm);
}

}  // namespace
}  // namespace spyre::python
