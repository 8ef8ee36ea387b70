// spyre/kernels/ops/loss.h — the element parts of loss functions; the engine reduces them.
#pragma once
#include <cmath>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

struct SquaredError {
  static constexpr OpInfo info{.name = "squared_error",
                               .aten = "",
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 2,
                               .doc = "(x - target)^2"};
  static double ref(Doubles x) { return (x[0] - x[1]) * (x[0] - x[1]); }
  static Value body(Builder& b, Values x) {
    const Value difference = b.sub(x[0], x[1]);
    return b.mul(difference, difference);
  }
};
static_assert(Operator<SquaredError>);

struct SquaredErrorBackward {
  static constexpr OpInfo info{.name = "squared_error_backward",
                               .aten = "",
                               .arity = 4,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 2.5,
                               .wide_scalars = true,
                               .doc = "norm * (x - target) * grad, from (grad, x, target, norm)"};
  static double ref(Doubles x) { return x[3] * (x[1] - x[2]) * x[0]; }
  static Value body(Builder& b, Values x) { return b.mul(b.mul(x[3], b.sub(x[1], x[2])), x[0]); }
};
static_assert(Operator<SquaredErrorBackward>);

struct AbsoluteError {
  static constexpr OpInfo info{.name = "absolute_error",
                               .aten = "",
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .doc = "|x - target|"};
  static double ref(Doubles x) { return std::fabs(x[0] - x[1]); }
  static Value body(Builder& b, Values x) { return b.abs(b.sub(x[0], x[1])); }
};
static_assert(Operator<AbsoluteError>);

struct SmoothL1 {
  static constexpr OpInfo info{.name = "smooth_l1",
                               .aten = "",
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 4,
                               .wide_scalars = true,
                               .doc = "smooth L1 loss of one element, from (x, target, beta)"};
  static double ref(Doubles x) {
    const double z = std::fabs(x[0] - x[1]);
    return z < x[2] ? 0.5 * z * z / x[2] : z - 0.5 * x[2];
  }
  static Value body(Builder& b, Values x) {
    const Value z = b.abs(b.sub(x[0], x[1])), half = b.constant(x[0], 0.5);
    const Value inner = b.div(b.mul(b.mul(half, z), z), x[2]);
    return b.select(b.lt(z, x[2]), inner, b.sub(z, b.mul(half, x[2])));
  }
};
static_assert(Operator<SmoothL1>);

struct SmoothL1Backward {
  static constexpr OpInfo info{.name = "smooth_l1_backward",
                               .aten = "",
                               .arity = 5,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 3,
                               .wide_scalars = true,
                               .doc = "gradient of smooth_l1, from (grad, x, target, beta, norm)"};
  static double ref(Doubles x) {
    const double z = x[1] - x[2];
    if (z <= -x[3]) return -x[4] * x[0];
    if (z >= x[3]) return x[4] * x[0];
    return x[4] * z * x[0] / x[3];
  }
  static Value body(Builder& b, Values x) {
    const Value z = b.sub(x[1], x[2]), edge = b.mul(x[4], x[0]);
    const Value inner = b.div(b.mul(b.mul(x[4], z), x[0]), x[3]);
    const Value upper = b.select(b.ge(z, x[3]), edge, inner);
    return b.select(b.le(z, b.neg(x[3])), b.neg(edge), upper);
  }
};
static_assert(Operator<SmoothL1Backward>);

struct Huber {
  static constexpr OpInfo info{.name = "huber",
                               .aten = "",
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 4,
                               .wide_scalars = true,
                               .doc = "Huber loss of one element, from (x, target, delta)"};
  static double ref(Doubles x) {
    const double z = std::fabs(x[0] - x[1]);
    return z <= x[2] ? 0.5 * z * z : x[2] * (z - 0.5 * x[2]);
  }
  static Value body(Builder& b, Values x) {
    const Value z = b.abs(b.sub(x[0], x[1])), half = b.constant(x[0], 0.5);
    const Value outer = b.mul(x[2], b.sub(z, b.mul(half, x[2])));
    return b.select(b.le(z, x[2]), b.mul(b.mul(half, z), z), outer);
  }
};
static_assert(Operator<Huber>);

struct HuberBackward {
  static constexpr OpInfo info{.name = "huber_backward",
                               .aten = "",
                               .arity = 5,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 3,
                               .wide_scalars = true,
                               .doc = "gradient of huber, from (grad, x, target, delta, norm)"};
  static double ref(Doubles x) {
    const double z = x[1] - x[2];
    if (z <= -x[3]) return -x[4] * x[0] * x[3];
    if (z >= x[3]) return x[4] * x[0] * x[3];
    return x[4] * z * x[0];
  }
  static Value body(Builder& b, Values x) {
    const Value z = b.sub(x[1], x[2]), edge = b.mul(b.mul(x[4], x[0]), x[3]);
    const Value inner = b.mul(b.mul(x[4], z), x[0]);
    const Value upper = b.select(b.ge(z, x[3]), edge, inner);
    return b.select(b.le(z, b.neg(x[3])), b.neg(edge), upper);
  }
};
static_assert(Operator<HuberBackward>);

struct BinaryCrossEntropy {
  static constexpr OpInfo info{
      .name = "binary_cross_entropy",
      .aten = "",
      .arity = 2,
      .types = TypeRule::PromoteTensors,
      .computes = kFloats,
      .cost = Cost::Transcendental,
      .max_ulp = 8,
      .cancels = true,
      .doc = "-(t log x + (1 - t) log(1 - x)), logarithms at least -100, from (x, target)"};
  static double ref(Doubles x) {
    if (!(x[0] >= 0 && x[0] <= 1)) return NAN;
    const double low = std::fmax(std::log(x[0]), -100);
    const double high = std::fmax(std::log1p(-x[0]), -100);
    return (x[1] - 1) * high - x[1] * low;
  }
  static Value body(Builder& b, Values x) {
    const Value floor = b.constant(x[0], -100), one = b.constant(x[0], 1);
    const Value low = b.max_nan(vector_math::log(b, x[0]), floor);
    const Value high = b.max_nan(vector_math::log1p(b, b.neg(x[0])), floor);
    return b.sub(b.mul(b.sub(x[1], one), high), b.mul(x[1], low));
  }
};
static_assert(Operator<BinaryCrossEntropy>);

struct BinaryCrossEntropyBackward {
  static constexpr OpInfo info{
      .name = "binary_cross_entropy_backward",
      .aten = "",
      .arity = 3,
      .types = TypeRule::PromoteTensors,
      .computes = kFloats,
      .max_ulp = 4,
      .wide_scalars = true,
      .doc = "grad * (x - t) / max(x (1 - x), 1e-12), from (grad, x, target)"};
  static double ref(Doubles x) {
    return x[0] * (x[1] - x[2]) / std::fmax((1 - x[1]) * x[1], 1e-12);
  }
  static Value body(Builder& b, Values x) {
    const Value spread = b.mul(b.sub(b.constant(x[1], 1), x[1]), x[1]);
    const Value divisor = b.max_nan(spread, b.constant(x[1], 1e-12));
    return b.div(b.mul(x[0], b.sub(x[1], x[2])), divisor);
  }
};
static_assert(Operator<BinaryCrossEntropyBackward>);

using Loss = OpList<SquaredError, SquaredErrorBackward, AbsoluteError, SmoothL1, SmoothL1Backward,
                    Huber, HuberBackward, BinaryCrossEntropy, BinaryCrossEntropyBackward>;

}  // namespace spyre::kernels::ops
