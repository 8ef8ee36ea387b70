// spyre/kernels/ops/piecewise_backward.h — derivatives of piecewise linear activations.
#pragma once
#include "spyre/kernels/ops/activation.h"

namespace spyre::kernels::ops {

struct ThresholdBackward {
  static constexpr OpInfo info{.name = "threshold_backward",
                               .aten = "threshold_backward",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kNumbers,
                               .max_ulp = 0.5,
                               .wide_scalars = true,
                               .doc = "grad where x is above the threshold, else 0"};
  static double ref(Doubles x) { return x[1] <= x[2] ? 0 : x[0]; }
  static Value body(Builder& b, Values x) {
    return b.select(b.le(x[1], x[2]), b.constant(x[0], 0), x[0]);
  }
};
static_assert(Operator<ThresholdBackward>);

struct LeakyReluBackward {
  static constexpr OpInfo info{.name = "leaky_relu_backward",
                               .aten = "leaky_relu_backward",
                               .signature = Signature::FromSchema,
                               .arity = 4,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .wide_scalars = true,
                               .doc = "grad above 0, slope * grad below"};
  static double ref(Doubles x) { return x[1] > 0 ? x[0] : x[0] * x[2]; }
  static Value body(Builder& b, Values x) {
    return b.select(b.gt(x[1], b.constant(x[1], 0)), x[0], b.mul(x[0], x[2]));
  }
};
static_assert(Operator<LeakyReluBackward>);

struct PreluBackwardSelf {
  static constexpr OpInfo info{.name = "prelu_backward_self",
                               .aten = "",
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .doc = "gradient of prelu to its input, from (grad, x, weight)"};
  static double ref(Doubles x) { return x[1] > 0 ? x[0] : x[0] * x[2]; }
  static Value body(Builder& b, Values x) {
    return b.select(b.gt(x[1], b.constant(x[1], 0)), x[0], b.mul(x[0], x[2]));
  }
};
static_assert(Operator<PreluBackwardSelf>);

struct PreluBackwardWeight {
  static constexpr OpInfo info{.name = "prelu_backward_weight",
                               .aten = "",
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .doc = "gradient of prelu to its weight, from (grad, x)"};
  static double ref(Doubles x) { return x[1] > 0 ? 0 : x[0] * x[1]; }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    return b.select(b.gt(x[1], zero), zero, b.mul(x[0], x[1]));
  }
};
static_assert(Operator<PreluBackwardWeight>);

struct HardtanhBackward {
  static constexpr OpInfo info{.name = "hardtanh_backward",
                               .aten = "hardtanh_backward",
                               .signature = Signature::FromSchema,
                               .arity = 4,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .wide_scalars = true,
                               .doc = "grad strictly between low and high, else 0"};
  static double ref(Doubles x) { return x[1] > x[2] && x[1] < x[3] ? x[0] : 0; }
  static Value body(Builder& b, Values x) {
    const Value between = b.bit_and(b.lt(x[2], x[1]), b.lt(x[1], x[3]));
    return b.select(between, x[0], b.constant(x[0], 0));
  }
};
static_assert(Operator<HardtanhBackward>);

struct HardsigmoidBackward {
  static constexpr OpInfo info{.name = "hardsigmoid_backward",
                               .aten = "hardsigmoid_backward",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 1.5,
                               .doc = "grad / 6 strictly between -3 and 3, else 0"};
  static double ref(Doubles x) { return x[1] > -3 && x[1] < 3 ? x[0] / 6 : 0; }
  static Value body(Builder& b, Values x) {
    const Value sixth = b.mul(x[0], b.constant(x[0], 1.0 / 6));
    const Value ramp = b.bit_and(b.lt(b.constant(x[1], -3), x[1]), b.lt(x[1], b.constant(x[1], 3)));
    return b.select(ramp, sixth, b.constant(x[0], 0));
  }
};
static_assert(Operator<HardsigmoidBackward>);

struct HardswishBackward {
  static constexpr OpInfo info{
      .name = "hardswish_backward",
      .aten = "hardswish_backward",
      .signature = Signature::FromSchema,
      .arity = 2,
      .types = TypeRule::PromoteTensors,
      .computes = kFloats,
      .max_ulp = 2,
      .cancels = true,
      .doc = "grad * (x / 3 + 1 / 2) between -3 and 3, 0 below, grad above"};
  static double ref(Doubles x) {
    return x[1] <= -3 ? 0 : x[1] >= 3 ? x[0] : x[0] * (x[1] / 3 + 0.5);
  }
  static Value body(Builder& b, Values x) {
    const Value three = b.constant(x[1], 3);
    const Value slope = b.add(b.div(x[1], three), b.constant(x[1], 0.5));
    const Value ramp = b.select(b.ge(x[1], three), x[0], b.mul(x[0], slope));
    return b.select(b.le(x[1], b.neg(three)), b.constant(x[0], 0), ramp);
  }
};
static_assert(Operator<HardswishBackward>);

struct SoftshrinkBackward {
  static constexpr OpInfo info{.name = "softshrink_backward",
                               .aten = "softshrink_backward;hardshrink_backward",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .doc = "grad, but 0 where x is within lambda of 0"};
  static double ref(Doubles x) { return x[1] > x[2] || x[1] < -x[2] ? x[0] : 0; }
  static Value body(Builder& b, Values x) {
    const Value outside = b.bit_or(b.lt(x[2], x[1]), b.lt(x[1], b.neg(x[2])));
    return b.select(outside, x[0], b.constant(x[0], 0));
  }
};
static_assert(Operator<SoftshrinkBackward>);

using PiecewiseBackward =
    OpList<ThresholdBackward, LeakyReluBackward, PreluBackwardSelf, PreluBackwardWeight,
           HardtanhBackward, HardsigmoidBackward, HardswishBackward, SoftshrinkBackward>;

}  // namespace spyre::kernels::ops
