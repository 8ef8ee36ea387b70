// spyre/kernels/ops/activation.h — activation functions of neural networks.
#pragma once
#include <cmath>
#include <numbers>

#include "spyre/kernels/ops/combine.h"

namespace spyre::kernels::ops {

/// (1 + tanh(u)) / 2 is sigmoid(2 u), which keeps its digits in the tail; this is 2 u.
inline Value gelu_inner(Builder& b, Value x) {
  const double scale = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Value cube = b.mul(b.mul(x, x), x);
  return b.mul(b.fma(b.constant(x, 0.044715), cube, x), b.constant(x, scale));
}
inline double ref_gelu_inner(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

/// e^x (e^x + 2), from which tanh(log(1 + e^x)) = n / (n + 2); large x would overflow and change nothing.
inline Value softplus_power(Builder& b, Value x) {
  const Value power = vector_math::exp(b, b.min_nan(x, b.constant(x, 20)));
  return b.mul(power, b.add(power, b.constant(x, 2)));
}

inline Value clamped_ramp(Builder& b, Value x) {
  const Value ramp = b.add(x, b.constant(x, 3));
  return b.min_nan(b.max_nan(ramp, b.constant(x, 0)), b.constant(x, 6));
}

/// -bound <= x <= bound.
inline Value inside(Builder& b, Value x, Value bound) {
  return b.bit_and(b.le(b.neg(bound), x), b.le(x, bound));
}

inline double ref_clamp(double x, double eps) { return x < eps ? eps : x > 1 - eps ? 1 - eps : x; }

struct Relu {
  static constexpr OpInfo info{.name = "relu",
                               .aten = "relu",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "max(x, 0); NaN stays"};
  static double ref(Doubles x) { return std::isnan(x[0]) ? x[0] : std::fmax(x[0], 0); }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    return b.select(b.lt(x[0], zero), zero, x[0]);
  }
};
static_assert(Operator<Relu>);

struct Hardtanh {
  static constexpr OpInfo info{.name = "hardtanh",
                               .aten = "hardtanh",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kNumbers,
                               .doc = "min(max(x, low), high); NaN stays"};
  static double ref(Doubles x) { return ref_at_most(ref_at_least(x[0], x[1]), x[2]); }
  static Value body(Builder& b, Values x) { return at_most(b, at_least(b, x[0], x[1]), x[2]); }
};
static_assert(Operator<Hardtanh>);

struct Threshold {
  static constexpr OpInfo info{.name = "threshold",
                               .aten = "threshold",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kNumbers,
                               .wide_scalars = true,
                               .doc = "x above the threshold, else the value; NaN stays"};
  static double ref(Doubles x) { return x[0] <= x[1] ? x[2] : x[0]; }
  static Value body(Builder& b, Values x) { return b.select(b.le(x[0], x[1]), x[2], x[0]); }
};
static_assert(Operator<Threshold>);

struct LeakyRelu {
  static constexpr OpInfo info{.name = "leaky_relu",
                               .aten = "leaky_relu",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .wide_scalars = true,
                               .doc = "x above 0, slope * x below"};
  static double ref(Doubles x) { return x[0] > 0 ? x[0] : x[0] * x[1]; }
  static Value body(Builder& b, Values x) {
    return b.select(b.gt(x[0], b.constant(x[0], 0)), x[0], b.mul(x[0], x[1]));
  }
};
static_assert(Operator<LeakyRelu>);

struct Prelu {
  static constexpr OpInfo info{.name = "prelu",
                               .aten = "_prelu_kernel",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .computes = kFloats,
                               .doc = "x above 0, weight * x below"};
  static double ref(Doubles x) { return x[0] > 0 ? x[0] : x[0] * x[1]; }
  static Value body(Builder& b, Values x) {
    return b.select(b.gt(x[0], b.constant(x[0], 0)), x[0], b.mul(x[0], x[1]));
  }
};
static_assert(Operator<Prelu>);

struct Elu {
  static constexpr OpInfo info{
      .name = "elu",
      .aten = "elu",
      .signature = Signature::FromSchema,
      .arity = 4,
      .types = TypeRule::PromoteTensors,
      .computes = kFloats,
      .cost = Cost::Transcendental,
      .max_ulp = 4,
      .wide_scalars = true,
      .doc = "scale * x above 0, alpha * scale * expm1(input_scale * x) below"};
  static double ref(Doubles x) {
    return x[0] > 0 ? x[0] * x[2] : std::expm1(x[0] * x[3]) * (x[1] * x[2]);
  }
  static Value body(Builder& b, Values x) {
    const Value below = b.mul(vector_math::expm1(b, b.mul(x[0], x[3])), b.mul(x[1], x[2]));
    return b.select(b.lt(x[0], b.constant(x[0], 0)), below, b.mul(x[0], x[2]));
  }
};
static_assert(Operator<Elu>);

struct Sigmoid {
  static constexpr OpInfo info{.name = "sigmoid",
                               .aten = "sigmoid",
                               .signature = Signature::Unary,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2.5,
                               .doc = "1 / (1 + exp(-x))"};
  static double ref(Doubles x) { return 1 / (1 + std::exp(-x[0])); }
  static Value body(Builder& b, Values x) { return vector_math::sigmoid(b, x[0]); }
};
static_assert(Operator<Sigmoid>);

struct Silu {
  static constexpr OpInfo info{.name = "silu",
                               .aten = "silu",
                               .signature = Signature::Unary,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3,
                               .doc = "x * sigmoid(x)"};
  static double ref(Doubles x) { return x[0] / (1 + std::exp(-x[0])); }
  static Value body(Builder& b, Values x) { return b.mul(x[0], vector_math::sigmoid(b, x[0])); }
};
static_assert(Operator<Silu>);

struct Gelu {
  static constexpr OpInfo info{.name = "gelu",
                               .aten = "gelu",
                               .signature = Signature::FromSchema,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3,
                               .select = "approximate=none",
                               .cancels = true,
                               .doc = "x * normal_cdf(x)"};
  static double ref(Doubles x) { return 0.5 * x[0] * std::erfc(-x[0] / std::numbers::sqrt2); }
  static Value body(Builder& b, Values x) {
    const Value erf = vector_math::erf(b, b.mul(x[0], b.constant(x[0], 1 / std::numbers::sqrt2)));
    return b.mul(b.mul(x[0], b.constant(x[0], 0.5)), b.add(erf, b.constant(x[0], 1)));
  }
};
static_assert(Operator<Gelu>);

struct GeluTanh {
  static constexpr OpInfo info{.name = "gelu_tanh",
                               .aten = "gelu",
                               .signature = Signature::FromSchema,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 4,
                               .select = "approximate=tanh",
                               .cancels = true,
                               .doc = "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2"};
  static double ref(Doubles x) { return 0.5 * x[0] * (1 + std::tanh(ref_gelu_inner(x[0]))); }
  static Value body(Builder& b, Values x) {
    return b.mul(x[0], vector_math::sigmoid(b, gelu_inner(b, x[0])));
  }
};
static_assert(Operator<GeluTanh>);

struct Mish {
  static constexpr OpInfo info{.name = "mish",
                               .aten = "mish",
                               .signature = Signature::Unary,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 5,
                               .doc = "x * tanh(softplus(x))"};
  static double ref(Doubles x) { return x[0] * std::tanh(std::log1p(std::exp(x[0]))); }
  static Value body(Builder& b, Values x) {
    const Value n = softplus_power(b, x[0]);
    return b.mul(x[0], b.div(n, b.add(n, b.constant(n, 2))));
  }
};
static_assert(Operator<Mish>);

struct Softplus {
  static constexpr OpInfo info{.name = "softplus",
                               .aten = "softplus",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 4,
                               .wide_scalars = true,
                               .doc = "log(1 + exp(beta * x)) / beta; x above the threshold"};
  static double ref(Doubles x) {
    return x[0] * x[1] > x[2] ? x[0] : std::log1p(std::exp(x[0] * x[1])) / x[1];
  }
  static Value body(Builder& b, Values x) {
    const Value scaled = b.mul(x[0], x[1]);
    const Value smooth = b.div(vector_math::log1p(b, vector_math::exp(b, scaled)), x[1]);
    return b.select(b.gt(scaled, x[2]), x[0], smooth);
  }
};
static_assert(Operator<Softplus>);

struct LogSigmoid {
  static constexpr OpInfo info{.name = "log_sigmoid",
                               .aten = "",
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3,
                               .doc = "log(sigmoid(x))"};
  static double ref(Doubles x) {
    return x[0] < 0 ? x[0] - std::log1p(std::exp(x[0])) : -std::log1p(std::exp(-x[0]));
  }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    const Value tail = vector_math::log1p(b, vector_math::exp(b, b.neg(b.abs(x[0]))));
    return b.sub(b.min_nan(x[0], zero), tail);
  }
};
static_assert(Operator<LogSigmoid>);

struct Hardsigmoid {
  static constexpr OpInfo info{.name = "hardsigmoid",
                               .aten = "hardsigmoid",
                               .signature = Signature::Unary,
                               .computes = kFloats,
                               .max_ulp = 1,
                               .cancels = true,
                               .doc = "min(max(x + 3, 0), 6) / 6"};
  static double ref(Doubles x) {
    return std::isnan(x[0]) ? x[0] : std::fmin(std::fmax(x[0] + 3, 0), 6) / 6;
  }
  static Value body(Builder& b, Values x) {
    return b.div(clamped_ramp(b, x[0]), b.constant(x[0], 6));
  }
};
static_assert(Operator<Hardsigmoid>);

struct Hardswish {
  static constexpr OpInfo info{.name = "hardswish",
                               .aten = "hardswish",
                               .signature = Signature::Unary,
                               .computes = kFloats,
                               .max_ulp = 2,
                               .cancels = true,
                               .doc = "x * min(max(x + 3, 0), 6) / 6"};
  static double ref(Doubles x) { return x[0] * std::fmin(std::fmax(x[0] + 3, 0), 6) / 6; }
  static Value body(Builder& b, Values x) {
    return b.div(b.mul(x[0], clamped_ramp(b, x[0])), b.constant(x[0], 6));
  }
};
static_assert(Operator<Hardswish>);

struct Softshrink {
  static constexpr OpInfo info{.name = "softshrink",
                               .aten = "softshrink",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .wide_scalars = true,
                               .doc = "x moved towards 0 by lambda"};
  static double ref(Doubles x) {
    return x[0] > x[1] ? x[0] - x[1] : x[0] < -x[1] ? x[0] + x[1] : x[0] * 0;
  }
  static Value body(Builder& b, Values x) {
    const Value below =
        b.select(b.lt(x[0], b.neg(x[1])), b.add(x[0], x[1]), b.mul(x[0], b.constant(x[0], 0)));
    return b.select(b.gt(x[0], x[1]), b.sub(x[0], x[1]), below);
  }
};
static_assert(Operator<Softshrink>);

struct Hardshrink {
  static constexpr OpInfo info{.name = "hardshrink",
                               .aten = "hardshrink",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .wide_scalars = true,
                               .doc = "x, but 0 within lambda of 0"};
  static double ref(Doubles x) { return x[0] >= -x[1] && x[0] <= x[1] ? 0 : x[0]; }
  static Value body(Builder& b, Values x) {
    return b.select(inside(b, x[0], x[1]), b.constant(x[0], 0), x[0]);
  }
};
static_assert(Operator<Hardshrink>);

struct Logit {
  static constexpr OpInfo info{.name = "logit",
                               .aten = "logit",
                               .signature = Signature::FromSchema,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 4,
                               .select = "!eps",
                               .cancels = true,
                               .doc = "log(x / (1 - x))"};
  static double ref(Doubles x) { return std::log(x[0] / (1 - x[0])); }
  static Value body(Builder& b, Values x) {
    return vector_math::log(b, b.div(x[0], b.sub(b.constant(x[0], 1), x[0])));
  }
};
static_assert(Operator<Logit>);

struct LogitClamped {
  static constexpr OpInfo info{.name = "logit_clamped",
                               .aten = "logit",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 4,
                               .select = "eps",
                               .cancels = true,
                               .doc = "log(z / (1 - z)), z = x clamped to [eps, 1 - eps]"};
  static double ref(Doubles x) {
    return std::log(ref_clamp(x[0], x[1]) / (1 - ref_clamp(x[0], x[1])));
  }
  static Value body(Builder& b, Values x) {
    const Value one = b.constant(x[0], 1);
    const Value high = b.sub(one, x[1]);
    const Value below_high = b.select(b.lt(high, x[0]), high, x[0]);
    const Value clamped = b.select(b.lt(x[0], x[1]), x[1], below_high);
    return vector_math::log(b, b.div(clamped, b.sub(one, clamped)));
  }
};
static_assert(Operator<LogitClamped>);

using Activation = OpList<Relu, Hardtanh, Threshold, LeakyRelu, Prelu, Elu, Sigmoid, Silu, Gelu,
                          GeluTanh, Mish, Softplus, LogSigmoid, Hardsigmoid, Hardswish, Softshrink,
                          Hardshrink, Logit, LogitClamped>;

}  // namespace spyre::kernels::ops
