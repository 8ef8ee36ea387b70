// spyre/kernels/ops/backward.h — derivatives of smooth activations, as autograd calls them.
#pragma once
#include <cmath>
#include <numbers>

#include "spyre/kernels/ops/activation.h"

namespace spyre::kernels::ops {

inline double ref_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

inline Value one_minus_square(Builder& b, Value x) { return b.fma(b.neg(x), x, b.constant(x, 1)); }

/// grad / (x (1 - x)), but `outside` where x is below `low` or above 1 - low.
inline Value logit_slope(Builder& b, Value grad, Value x, Value low, Value outside) {
  const Value one = b.constant(x, 1);
  const Value slope = b.div(grad, b.mul(x, b.sub(one, x)));
  const Value high = b.convert_to(b.sub(one, low), b.compute());
  const Value beyond = b.bit_or(b.lt(x, low), b.lt(high, x));
  return b.select(beyond, outside, slope);
}

struct SigmoidBackward {
  static constexpr OpInfo info{.name = "sigmoid_backward",
                               .aten = "sigmoid_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 2,
                               .doc = "grad * (1 - y) * y, y the sigmoid"};
  static double ref(Doubles x) { return x[0] * (1 - x[1]) * x[1]; }
  static Value body(Builder& b, Values x) {
    return b.mul(b.mul(x[0], b.sub(b.constant(x[1], 1), x[1])), x[1]);
  }
};
static_assert(Operator<SigmoidBackward>);

struct TanhBackward {
  static constexpr OpInfo info{.name = "tanh_backward",
                               .aten = "tanh_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 1.5,
                               .doc = "grad * (1 - y * y), y the tanh"};
  static double ref(Doubles x) { return x[0] * ((1 - x[1]) * (1 + x[1])); }
  static Value body(Builder& b, Values x) { return b.mul(x[0], one_minus_square(b, x[1])); }
};
static_assert(Operator<TanhBackward>);

struct EluBackward {
  static constexpr OpInfo info{
      .name = "elu_backward",
      .aten = "elu_backward",
      .signature = Signature::FromSchema,
      .arity = 6,
      .types = TypeRule::PromoteTensors,
      .computes = kFloats,
      .cost = Cost::Transcendental,
      .max_ulp = 4,
      .wide_scalars = true,
      .cancels = true,
      .doc = "gradient of elu, from (grad, alpha, scale, input_scale, is_result, x or y)"};
  static double ref(Doubles x) {
    const double scale_below = x[1] * x[2] * x[3];
    if (x[5] > 0) return x[0] * x[2];
    return x[4] != 0 ? x[0] * x[3] * (x[5] + x[1] * x[2])
                     : x[0] * scale_below * std::exp(x[5] * x[3]);
  }
  static Value body(Builder& b, Values x) {
    const Value factor = b.mul(x[1], x[2]);
    const Value from_result = b.mul(b.mul(x[0], x[3]), b.add(x[5], factor));
    const Value from_input =
        b.mul(b.mul(b.mul(x[0], x[3]), factor), vector_math::exp(b, b.mul(x[5], x[3])));
    const Value below = b.select(b.nonzero(x[4]), from_result, from_input);
    return b.select(b.gt(x[5], b.constant(x[5], 0)), b.mul(x[0], x[2]), below);
  }
};
static_assert(Operator<EluBackward>);

struct SiluBackward {
  static constexpr OpInfo info{.name = "silu_backward",
                               .aten = "silu_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 6,
                               .cancels = true,
                               .doc = "grad * sigmoid(x) * (1 + x * (1 - sigmoid(x)))"};
  static double ref(Doubles x) {
    return x[0] * ref_sigmoid(x[1]) * (1 + x[1] * (1 - ref_sigmoid(x[1])));
  }
  static Value body(Builder& b, Values x) {
    const vector_math::SigmoidPair sigmoid = vector_math::sigmoid_pair(b, x[1]);
    const Value slope = b.fma(x[1], sigmoid.of_minus_x, b.constant(x[1], 1));
    return b.mul(b.mul(x[0], sigmoid.of_x), slope);
  }
};
static_assert(Operator<SiluBackward>);

struct GeluBackward {
  static constexpr OpInfo info{.name = "gelu_backward",
                               .aten = "gelu_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 4,
                               .select = "approximate=none",
                               .cancels = true,
                               .doc = "grad * (normal_cdf(x) + x * normal_pdf(x))"};
  static double ref(Doubles x) {
    const double cdf = 0.5 * std::erfc(-x[1] / std::numbers::sqrt2);
    const double pdf = std::exp(-0.5 * x[1] * x[1]) / std::sqrt(2 * std::numbers::pi);
    return x[0] * (cdf + x[1] * pdf);
  }
  static Value body(Builder& b, Values x) {
    const Value half = b.constant(x[1], 0.5);
    const Value erf = vector_math::erf(b, b.mul(x[1], b.constant(x[1], 1 / std::numbers::sqrt2)));
    const Value cdf = b.mul(half, b.add(erf, b.constant(x[1], 1)));
    const Value bell = vector_math::exp(b, b.mul(b.mul(x[1], x[1]), b.neg(half)));
    const Value pdf = b.mul(bell, b.constant(x[1], std::numbers::inv_sqrtpi / std::numbers::sqrt2));
    return b.mul(x[0], b.fma(x[1], pdf, cdf));
  }
};
static_assert(Operator<GeluBackward>);

struct GeluTanhBackward {
  static constexpr OpInfo info{.name = "gelu_tanh_backward",
                               .aten = "gelu_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 8,
                               .select = "approximate=tanh",
                               .cancels = true,
                               .doc = "gradient of gelu_tanh, from (grad, x)"};
  static double ref(Doubles x) {
    const double scale = std::sqrt(2 / std::numbers::pi);
    const double tanh = std::tanh(ref_gelu_inner(x[1]));
    const double slope = scale * (1 + 3 * 0.044715 * x[1] * x[1]);
    return x[0] * (0.5 * (1 + tanh) + 0.5 * x[1] * (1 - tanh * tanh) * slope);
  }
  static Value body(Builder& b, Values x) {
    const double scale = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const vector_math::SigmoidPair sigmoid = vector_math::sigmoid_pair(b, gelu_inner(b, x[1]));
    const Value square = b.mul(x[1], x[1]), one = b.constant(x[1], 1);
    const Value slope =
        b.mul(b.constant(x[1], scale), b.fma(b.constant(x[1], 3 * 0.044715), square, one));
    const Value inner = b.fma(b.mul(x[1], sigmoid.of_minus_x), slope, one);
    return b.mul(x[0], b.mul(sigmoid.of_x, inner));
  }
};
static_assert(Operator<GeluTanhBackward>);

struct MishBackward {
  static constexpr OpInfo info{.name = "mish_backward",
                               .aten = "mish_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 6,
                               .cancels = true,
                               .doc = "gradient of mish, from (grad, x)"};
  static double ref(Doubles x) {
    const double tanh = std::tanh(std::log1p(std::exp(x[1])));
    return x[0] * (tanh + x[1] * ref_sigmoid(x[1]) * (1 - tanh * tanh));
  }
  static Value body(Builder& b, Values x) {
    // 1 - tanh^2 = 4 (n + 1) / (n + 2)^2 keeps its digits where tanh is near 1.
    const Value n = softplus_power(b, x[1]), divisor = b.add(n, b.constant(n, 2));
    const Value tanh = b.div(n, divisor);
    const Value four = b.constant(n, 4);
    const Value rest = b.div(b.fma(four, n, four), b.mul(divisor, divisor));
    const Value product = b.mul(x[1], vector_math::sigmoid(b, x[1]));
    const Value slope = b.fma(product, rest, tanh);
    // softplus_power stops at 20, where the slope is 1.
    return b.select(b.lt(b.constant(n, 20), x[1]), x[0], b.mul(x[0], slope));
  }
};
static_assert(Operator<MishBackward>);

struct SoftplusBackward {
  static constexpr OpInfo info{.name = "softplus_backward",
                               .aten = "softplus_backward",
                               .signature = Signature::FromSchema,
                               .arity = 4,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 4,
                               .wide_scalars = true,
                               .doc = "grad * sigmoid(beta * x); grad above the threshold"};
  static double ref(Doubles x) {
    return x[1] * x[2] > x[3] ? x[0] : x[0] * ref_sigmoid(x[1] * x[2]);
  }
  static Value body(Builder& b, Values x) {
    const Value scaled = b.mul(x[1], x[2]);
    return b.select(b.gt(scaled, x[3]), x[0], b.mul(x[0], vector_math::sigmoid(b, scaled)));
  }
};
static_assert(Operator<SoftplusBackward>);

struct LogSigmoidBackward {
  static constexpr OpInfo info{.name = "log_sigmoid_backward",
                               .aten = "",
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3.5,
                               .doc = "grad * sigmoid(-x), from (grad, x)"};
  static double ref(Doubles x) { return x[0] * ref_sigmoid(-x[1]); }
  static Value body(Builder& b, Values x) {
    return b.mul(x[0], vector_math::sigmoid(b, b.neg(x[1])));
  }
};
static_assert(Operator<LogSigmoidBackward>);

struct LogitBackward {
  static constexpr OpInfo info{.name = "logit_backward",
                               .aten = "logit_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 3,
                               .select = "!eps",
                               .doc = "grad / (x * (1 - x)); NaN outside [0, 1]"};
  static double ref(Doubles x) { return x[1] < 0 || x[1] > 1 ? NAN : x[0] / (x[1] * (1 - x[1])); }
  static Value body(Builder& b, Values x) {
    return logit_slope(b, x[0], x[1], b.constant(x[1], 0), b.constant(x[1], NAN));
  }
};
static_assert(Operator<LogitBackward>);

struct LogitClampedBackward {
  static constexpr OpInfo info{.name = "logit_clamped_backward",
                               .aten = "logit_backward",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 3,
                               .select = "eps",
                               .doc = "grad / (x * (1 - x)); 0 outside [eps, 1 - eps]"};
  static double ref(Doubles x) {
    const double low = std::fmax(x[2], 0);
    const bool inside = x[1] >= low && x[1] <= 1 - low;
    return inside ? x[0] / (x[1] * (1 - x[1])) : x[2] < 0 ? NAN : 0;
  }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[1], 0);
    const Value unclamped = b.lt(x[2], zero);
    const Value outside = b.select(unclamped, b.constant(x[1], NAN), zero);
    const Value slope = logit_slope(b, x[0], x[1], b.select(unclamped, zero, x[2]), outside);
    return b.select(b.bit_or(b.is_nan(x[1]), b.is_nan(x[2])), outside, slope);
  }
};
static_assert(Operator<LogitClampedBackward>);

using Backward =
    OpList<SigmoidBackward, TanhBackward, EluBackward, SiluBackward, GeluBackward, GeluTanhBackward,
           MishBackward, SoftplusBackward, LogSigmoidBackward, LogitBackward, LogitClampedBackward>;

}  // namespace spyre::kernels::ops
