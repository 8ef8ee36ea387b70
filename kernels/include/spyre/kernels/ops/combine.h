// spyre/kernels/ops/combine.h — several tensors at a time: select, clamp, interpolate, fused products.
#pragma once
#include <algorithm>
#include <cmath>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

/// x unless it is below `low`; a NaN on either side wins, and equal values keep x (so -0 stays).
inline Value at_least(Builder& b, Value x, Value low) {
  return b.select(b.bit_or(b.lt(x, low), b.is_nan(low)), low, x);
}
inline Value at_most(Builder& b, Value x, Value high) {
  return b.select(b.bit_or(b.lt(high, x), b.is_nan(high)), high, x);
}
inline double ref_at_least(double x, double low) {
  return std::isnan(low) ? low : x < low ? low : x;
}
inline double ref_at_most(double x, double high) {
  return std::isnan(high) ? high : x > high ? high : x;
}

struct Where {
  static constexpr OpInfo info{.name = "where",
                               .aten = "where.self",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .doc = "y where x is not zero, else z"};
  static double ref(Doubles x) { return x[0] != 0 ? x[1] : x[2]; }
  static Value body(Builder& b, Values x) { return b.select(b.nonzero(x[0]), x[1], x[2]); }
};
static_assert(Operator<Where>);

struct MaskedFill {
  static constexpr OpInfo info{.name = "masked_fill",
                               .aten = "masked_fill.Scalar;masked_fill.Tensor",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::OfFirst,
                               .doc = "value where the mask is true, else x"};
  static double ref(Doubles x) { return x[1] != 0 ? x[2] : x[0]; }
  static Value body(Builder& b, Values x) { return b.select(b.nonzero(x[1]), x[2], x[0]); }
};
static_assert(Operator<MaskedFill>);

struct Clamp {
  static constexpr OpInfo info{.name = "clamp",
                               .aten = "clamp;clamp.Tensor",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .computes = kNumbers,
                               .select = "min,max",
                               .doc = "min(max(x, low), high); NaN anywhere gives NaN"};
  static double ref(Doubles x) { return ref_at_most(ref_at_least(x[0], x[1]), x[2]); }
  static Value body(Builder& b, Values x) { return at_most(b, at_least(b, x[0], x[1]), x[2]); }
};
static_assert(Operator<Clamp>);

struct ClampMin {
  static constexpr OpInfo info{.name = "clamp_min",
                               .aten = "clamp_min;clamp_min.Tensor;clamp;clamp.Tensor",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .computes = kNumbers,
                               .select = "min,!max",
                               .doc = "max(x, low); NaN anywhere gives NaN"};
  static double ref(Doubles x) { return ref_at_least(x[0], x[1]); }
  static Value body(Builder& b, Values x) { return at_least(b, x[0], x[1]); }
};
static_assert(Operator<ClampMin>);

struct ClampMax {
  static constexpr OpInfo info{.name = "clamp_max",
                               .aten = "clamp_max;clamp_max.Tensor;clamp;clamp.Tensor",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .computes = kNumbers,
                               .select = "!min,max",
                               .doc = "min(x, high); NaN anywhere gives NaN"};
  static double ref(Doubles x) { return ref_at_most(x[0], x[1]); }
  static Value body(Builder& b, Values x) { return at_most(b, x[0], x[1]); }
};
static_assert(Operator<ClampMax>);

struct Lerp {
  static constexpr OpInfo info{.name = "lerp",
                               .aten = "lerp.Scalar;lerp.Tensor",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 4,
                               .wide_scalars = true,
                               .cancels = true,
                               .doc = "x + w * (y - x), from whichever end is nearer"};
  static double ref(Doubles x) { return x[0] * (1 - x[2]) + x[1] * x[2]; }
  static Value body(Builder& b, Values x) {
    const Value near_start = b.lt(b.abs(x[2]), b.constant(x[2], 0.5));
    const Value weight = b.select(near_start, x[2], b.sub(x[2], b.constant(x[2], 1)));
    return b.fma(weight, b.sub(x[1], x[0]), b.select(near_start, x[0], x[1]));
  }
};
static_assert(Operator<Lerp>);

struct Addcmul {
  static constexpr OpInfo info{.name = "addcmul",
                               .aten = "addcmul",
                               .signature = Signature::FromSchema,
                               .arity = 4,
                               .types = TypeRule::PromoteTensors,
                               .computes = kNumbers,
                               .max_ulp = 1.5,
                               .wide_scalars = true,
                               .cancels = true,
                               .doc = "x + (value * y) * z"};
  static double ref(Doubles x) { return x[0] + x[3] * x[1] * x[2]; }
  static Value body(Builder& b, Values x) { return multiply_add(b, b.mul(x[3], x[1]), x[2], x[0]); }
};
static_assert(Operator<Addcmul>);

struct Addcdiv {
  static constexpr OpInfo info{.name = "addcdiv",
                               .aten = "addcdiv",
                               .signature = Signature::FromSchema,
                               .arity = 4,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 2,
                               .wide_scalars = true,
                               .cancels = true,
                               .doc = "x + (value * y) / z"};
  static double ref(Doubles x) { return x[0] + x[3] * x[1] / x[2]; }
  static Value body(Builder& b, Values x) { return b.add(x[0], b.div(b.mul(x[3], x[1]), x[2])); }
};
static_assert(Operator<Addcdiv>);

struct DropoutBackward {
  static constexpr OpInfo info{.name = "dropout_backward",
                               .aten = "native_dropout_backward",
                               .signature = Signature::FromSchema,
                               .arity = 3,
                               .types = TypeRule::PromoteTensors,
                               .computes = kFloats,
                               .max_ulp = 1.5,
                               .wide_scalars = true,
                               .doc = "grad * mask * scale"};
  static double ref(Doubles x) { return x[0] * x[1] * x[2]; }
  static Value body(Builder& b, Values x) { return b.mul(b.mul(x[0], x[1]), x[2]); }
};
static_assert(Operator<DropoutBackward>);

/// x * scale + shift: turns a unit random number into one of a range or spread.
struct Affine {
  static constexpr OpInfo info{.name = "affine",
                               .aten = "",
                               .arity = 3,
                               .computes = kNumbers,
                               .wide_scalars = true,
                               .doc = "x * scale + shift, one rounding"};
  static double ref(Doubles x) { return std::fma(x[0], x[1], x[2]); }
  static Value body(Builder& b, Values x) { return multiply_add(b, x[0], x[1], x[2]); }
};
static_assert(Operator<Affine>);

using Combine = OpList<Where, MaskedFill, Clamp, ClampMin, ClampMax, Lerp, Addcmul, Addcdiv,
                       DropoutBackward, Affine>;

}  // namespace spyre::kernels::ops
