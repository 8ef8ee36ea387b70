// spyre/kernels/ops/rounding.h — conversions and roundings to whole numbers.
#pragma once
#include <cmath>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

/// The largest finite number of the compute type.
inline Value largest_finite(Builder& b) {
  switch (b.compute()) {
    case DType::F16: return b.constant(Lane::F32, 65504.0);
    case DType::BF16: return b.bits(Lane::F32, 0x7f7f0000U);
    case DType::F32: return b.bits(Lane::F32, 0x7f7fffffU);
    default: return b.bits(Lane::F64, 0x7fefffffffffffffU);
  }
}

/// The conversions of the op boundary do the work.
struct Cast {
  static constexpr OpInfo info{
      .name = "cast",
      .aten = "",
      .doc = "the conversion between compute and result type, nothing else"};
  static double ref(Doubles x) { return x[0]; }
  static Value body(Builder&, Values x) { return x[0]; }
};
static_assert(Operator<Cast>);

struct Floor {
  static constexpr OpInfo info{.name = "floor",
                               .aten = "floor",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "the greatest whole number not above x"};
  static double ref(Doubles x) { return std::floor(x[0]); }
  static Value body(Builder& b, Values x) { return quirks::floor(b, x[0], b.floor(x[0])); }
};
static_assert(Operator<Floor>);

struct Ceil {
  static constexpr OpInfo info{.name = "ceil",
                               .aten = "ceil",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "the least whole number not below x"};
  static double ref(Doubles x) { return std::ceil(x[0]); }
  static Value body(Builder& b, Values x) { return quirks::ceil(b, x[0], b.ceil(x[0])); }
};
static_assert(Operator<Ceil>);

struct Trunc {
  static constexpr OpInfo info{.name = "trunc",
                               .aten = "trunc",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "x without its fraction"};
  static double ref(Doubles x) { return std::trunc(x[0]); }
  static Value body(Builder& b, Values x) { return b.trunc(x[0]); }
};
static_assert(Operator<Trunc>);

struct Round {
  static constexpr OpInfo info{.name = "round",
                               .aten = "round",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "the nearest whole number, ties to even"};
  static double ref(Doubles x) { return std::nearbyint(x[0]); }
  static Value body(Builder& b, Values x) { return b.round_even(x[0]); }
};
static_assert(Operator<Round>);

struct Frac {
  static constexpr OpInfo info{.name = "frac",
                               .aten = "frac",
                               .signature = Signature::Unary,
                               .computes = kFloats,
                               .doc = "x - trunc(x)"};
  static double ref(Doubles x) { return x[0] - std::trunc(x[0]); }
  static Value body(Builder& b, Values x) { return b.sub(x[0], b.trunc(x[0])); }
};
static_assert(Operator<Frac>);

struct NanToNum {
  static constexpr OpInfo info{
      .name = "nan_to_num",
      .aten = "nan_to_num",
      .signature = Signature::FromSchema,
      .arity = 4,
      .doc = "NaN, +inf and -inf replaced; by 0 and the largest finite numbers where None"};
  static double ref(Doubles x) {
    if (std::isnan(x[0])) return std::isnan(x[1]) ? 0 : x[1];
    if (x[0] == INFINITY && !std::isnan(x[2])) return x[2];
    if (x[0] == -INFINITY && !std::isnan(x[3])) return x[3];
    return x[0];
  }
  static Value body(Builder& b, Values x) {
    if (!is_float(b.compute())) return x[0];
    const Value inf = b.constant(x[0], INFINITY), most = largest_finite(b);
    const Value nan = b.select(b.is_nan(x[1]), b.constant(x[0], 0), x[1]);
    const Value high = b.select(b.is_nan(x[2]), most, x[2]);
    const Value low = b.select(b.is_nan(x[3]), b.neg(most), x[3]);
    const Value infinite =
        b.select(b.eq(x[0], inf), high, b.select(b.eq(x[0], b.neg(inf)), low, x[0]));
    return b.select(b.is_nan(x[0]), nan, infinite);
  }
};
static_assert(Operator<NanToNum>);

using Rounding = OpList<Cast, Floor, Ceil, Trunc, Round, Frac, NanToNum>;

}  // namespace spyre::kernels::ops
