// spyre/engine/convolution.cpp — convolutions of any rank as library operations.
//
// Panels are groups of samples, or of output channels where there is one sample or the weight's
// gradient is wanted (its sum over the batch must stay in one order).
#include <ATen/Functions.h>
#include <ATen/Operators.h>
#include <ATen/native/ConvUtils.h>

#include <algorithm>
#include <array>

#include "spyre/engine/fallback.h"
#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using c10::IntArrayRef;

constexpr std::int64_t kMaxPanels = 8;

/// The arguments that every form of convolution shares.
struct Geometry {
  std::vector<std::int64_t> stride, padding, dilation, output_padding;
  bool transposed = false;
  std::int64_t groups = 1;

  void describe(KeyWriter& key) const {
    using List = c10::ArrayRef<std::int64_t>;
    key(List(stride), List(padding), List(dilation), List(output_padding), transposed, groups);
  }
  Tensor forward(const Tensor& input, const Tensor& weight,
                 const std::optional<Tensor>& bias) const {
    return at::convolution(input, weight, bias, stride, padding, dilation, transposed,
                           output_padding, groups);
  }
  auto backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                std::array<bool, 3> mask) const {
    return at::convolution_backward(grad, input, weight, at::OptionalIntArrayRef(), stride, padding,
                                    dilation, transposed, output_padding, groups, mask);
  }
  /// Raises unless there is a number for each dimension of space, and channels meet: PyTorch has checked it for calls of
  /// its own functions, but not for others.
  void check(const Tensor& input, const Tensor& weight) const;
  /// Output channels are independent slices of the weight.
  bool channels_split() const { return groups == 1 && !transposed; }
};

void Geometry::check(const Tensor& input, const Tensor& weight) const {
  TORCH_CHECK(input.dim() >= 3 && weight.dim() == input.dim(),
              "convolution: expected batches of images and filters of one rank; got ",
              input.sizes(), " and ", weight.sizes());
  const auto space = static_cast<std::size_t>(input.dim() - 2);
  const auto fits = [&](const std::vector<std::int64_t>& list, std::int64_t least) {
    return list.size() == space && std::ranges::all_of(list, [&](auto n) { return n >= least; });
  };
  TORCH_CHECK(fits(stride, 1) && fits(dilation, 1) && fits(padding, 0) && fits(output_padding, 0),
              "convolution: expected ", space,
              " positive strides and dilations and as many paddings; got ", stride, ", ", dilation,
              ", ", padding, " and ", output_padding);
  TORCH_CHECK(
      groups > 0 && input.size(1) == (transposed ? weight.size(0) : weight.size(1) * groups),
      "convolution: ", groups, " groups of filters ", weight.sizes(), " do not fit images ",
      input.sizes());
}

std::uint64_t macs_of(const Tensor& output, const Tensor& weight) {
  const std::int64_t channels = std::max<std::int64_t>(1, weight.size(0));
  return static_cast<std::uint64_t>(output.numel()) *
         static_cast<std::uint64_t>(weight.numel() / channels);
}

/// The output.
struct Forward {
  Geometry geometry;
  bool has_bias = false, by_channel = false;
  Panels panels;
  std::uint64_t macs = 0;

  static std::string_view name() { return "convolution"; }
  void describe(KeyWriter& key) const {
    geometry.describe(key);
    key(has_bias, by_channel, panels.extent, panels.size);
  }
  std::int64_t work_items() const { return panels.count(); }
  kernels::LibraryCost cost() const { return {.macs = macs}; }
  void run(Tensors t, std::int64_t first, std::int64_t last) const {
    const std::optional<Tensor> bias = has_bias ? std::optional(t[2]) : std::nullopt;
    const Tensor& out = t.back();
    for (std::int64_t i = first; i < last; ++i) {
      if (by_channel)
        panels.slice(out, 1, i).copy_(
            geometry.forward(t[0], panels.slice(t[1], 0, i),
                             bias ? std::optional(panels.slice(*bias, 0, i)) : bias));
      else panels.slice(out, 0, i).copy_(geometry.forward(panels.slice(t[0], 0, i), t[1], bias));
    }
  }
};

/// What both gradients have in common.
struct GradientPass {
  Geometry geometry;
  Panels panels;
  std::uint64_t macs = 0;

  void describe(KeyWriter& key) const {
    geometry.describe(key);
    key(panels.extent, panels.size);
  }
  std::int64_t work_items() const { return panels.count(); }
  kernels::LibraryCost cost() const { return {.macs = macs}; }
};

/// The gradient of the input.
struct InputGradient : GradientPass {
  static std::string_view name() { return "convolution_backward_input"; }
  void run(Tensors t, std::int64_t first, std::int64_t last) const {
    for (std::int64_t i = first; i < last; ++i) {
      const auto gradients = geometry.backward(panels.slice(t[0], 0, i), panels.slice(t[1], 0, i),
                                               t[2], {true, false, false});
      panels.slice(t[3], 0, i).copy_(std::get<0>(gradients));
    }
  }
};

/// The gradient of the weight.
struct WeightGradient : GradientPass {
  static std::string_view name() { return "convolution_backward_weight"; }
  void run(Tensors t, std::int64_t first, std::int64_t last) const {
    const auto gradient = [&](const Tensor& grad, const Tensor& weight) {
      return std::get<1>(geometry.backward(grad, t[1], weight, {false, true, false}));
    };
    if (panels.count() == 1) {
      t[3].copy_(gradient(t[0], t[2]));
      return;
    }
    for (std::int64_t i = first; i < last; ++i)
      panels.slice(t[3], 0, i).copy_(gradient(panels.slice(t[0], 1, i), panels.slice(t[2], 0, i)));
  }
};

Dims output_sizes(const Tensor& input, const Tensor& weight, const Geometry& g) {
  if (g.transposed)
    return dims_of(at::native::conv_input_size(input.sizes(), weight.sizes(), g.padding,
                                               g.output_padding, g.stride, g.dilation, g.groups));
  return dims_of(
      at::native::conv_output_size(input.sizes(), weight.sizes(), g.padding, g.stride, g.dilation));
}

/// As CPU's kernels: channels last if the input or the weight is.
Tensor empty_output(const Dims& sizes, const Tensor& input, const Tensor& weight) {
  const auto wants = [&](c10::MemoryFormat format) {
    return input.suggest_memory_format() == format || weight.suggest_memory_format() == format;
  };
  const auto format = wants(c10::MemoryFormat::ChannelsLast)     ? c10::MemoryFormat::ChannelsLast
                      : wants(c10::MemoryFormat::ChannelsLast3d) ? c10::MemoryFormat::ChannelsLast3d
                                                                 : c10::MemoryFormat::Contiguous;
  return at::empty(as_array(sizes), input.options().memory_format(format));
}

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, std::int64_t groups) {
  const Geometry geometry{stride.vec(),         padding.vec(), dilation.vec(),
                          output_padding.vec(), transposed,    groups};
  geometry.check(input, weight);
  const Tensor* const bias_or_null = if_defined(bias);
  std::vector<const Tensor*> inputs{&input, &weight};
  if (bias_or_null != nullptr) inputs.push_back(bias_or_null);
  check_same_device(inputs, input.device());
  const Tensor out = empty_output(output_sizes(input, weight, geometry), input, weight);
  if (out.numel() == 0) return out;
  const bool by_channel = out.size(0) == 1 && geometry.channels_split();
  const Panels panels =
      by_channel ? Panels::of(out.size(1), kMaxPanels, 16) : Panels::of(out.size(0), kMaxPanels, 1);
  const std::array<const Tensor*, 1> outputs{&out};
  record_library(
      Forward{geometry, bias_or_null != nullptr, by_channel, panels, macs_of(out, weight)}, inputs,
      outputs);
  return out;
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad, const Tensor& input,
                                                        const Tensor& weight, IntArrayRef stride,
                                                        IntArrayRef padding, IntArrayRef dilation,
                                                        bool transposed, IntArrayRef output_padding,
                                                        std::int64_t groups,
                                                        std::array<bool, 3> mask) {
  const Geometry geometry{stride.vec(),         padding.vec(), dilation.vec(),
                          output_padding.vec(), transposed,    groups};
  geometry.check(input, weight);
  TORCH_CHECK(grad.sizes() == as_array(output_sizes(input, weight, geometry)),
              "convolution_backward: the gradient's shape ", grad.sizes(), " is not the result's");
  const std::uint64_t macs = macs_of(grad, weight);
  Tensor grad_input, grad_weight, grad_bias;
  if (mask[0]) {
    grad_input = at::empty_like(input);
    record_library(InputGradient{{geometry, Panels::of(input.size(0), kMaxPanels, 1), macs}},
                   {&grad, &input, &weight}, {&grad_input});
  }
  if (mask[1]) {
    grad_weight = at::empty_like(weight);
    const Panels panels =
        Panels::of(weight.size(0), geometry.channels_split() ? kMaxPanels : 1, 16);
    record_library(WeightGradient{{geometry, panels, macs}}, {&grad, &input, &weight},
                   {&grad_weight});
  }
  if (mask[2]) {
    std::vector<std::int64_t> all_but_channels{0};
    for (std::int64_t d = 2; d < grad.dim(); ++d) all_but_channels.push_back(d);
    grad_bias = grad.sum(all_but_channels);
  }
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace

void register_convolutions(Registrations& registrations) {
  registrations.add_overload<&convolution>("convolution_overrideable");
  registrations.add_overload<&convolution_backward>("convolution_backward_overrideable");
}

}  // namespace spyre::engine
