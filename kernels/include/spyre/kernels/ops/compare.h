// spyre/kernels/ops/compare.h — comparisons and tests: the result is bool.
#pragma once
#include <cmath>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

inline Value infinity(Builder& b, Value like) { return b.constant(like, INFINITY); }

/// The integer lane of the same width.
inline Lane integer_lane(Value v) {
  switch (v.lane) {
    case Lane::F32: return Lane::I32;
    case Lane::F64: return Lane::I64;
    default: return v.lane;
  }
}

struct Eq {
  static constexpr OpInfo info{.name = "eq",
                               .aten = "eq.Tensor;eq.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x == y; false if either is NaN"};
  static double ref(Doubles x) { return x[0] == x[1]; }
  static Value body(Builder& b, Values x) { return b.eq(x[0], x[1]); }
};
static_assert(Operator<Eq>);

struct Ne {
  static constexpr OpInfo info{.name = "ne",
                               .aten = "ne.Tensor;ne.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x != y; true if either is NaN"};
  static double ref(Doubles x) { return x[0] != x[1]; }
  static Value body(Builder& b, Values x) { return b.ne(x[0], x[1]); }
};
static_assert(Operator<Ne>);

struct Lt {
  static constexpr OpInfo info{.name = "lt",
                               .aten = "lt.Tensor;lt.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x < y; false if either is NaN"};
  static double ref(Doubles x) { return x[0] < x[1]; }
  static Value body(Builder& b, Values x) { return b.lt(x[0], x[1]); }
};
static_assert(Operator<Lt>);

struct Le {
  static constexpr OpInfo info{.name = "le",
                               .aten = "le.Tensor;le.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x <= y; false if either is NaN"};
  static double ref(Doubles x) { return x[0] <= x[1]; }
  static Value body(Builder& b, Values x) { return b.le(x[0], x[1]); }
};
static_assert(Operator<Le>);

struct Gt {
  static constexpr OpInfo info{.name = "gt",
                               .aten = "gt.Tensor;gt.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x > y; false if either is NaN"};
  static double ref(Doubles x) { return x[0] > x[1]; }
  static Value body(Builder& b, Values x) { return b.gt(x[0], x[1]); }
};
static_assert(Operator<Gt>);

struct Ge {
  static constexpr OpInfo info{.name = "ge",
                               .aten = "ge.Tensor;ge.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x >= y; false if either is NaN"};
  static double ref(Doubles x) { return x[0] >= x[1]; }
  static Value body(Builder& b, Values x) { return b.ge(x[0], x[1]); }
};
static_assert(Operator<Ge>);

struct LogicalNot {
  static constexpr OpInfo info{.name = "logical_not",
                               .aten = "logical_not",
                               .signature = Signature::Unary,
                               .types = TypeRule::ToBool,
                               .doc = "x is zero"};
  static double ref(Doubles x) { return x[0] == 0; }
  static Value body(Builder& b, Values x) { return b.eq(x[0], b.constant(x[0], 0)); }
};
static_assert(Operator<LogicalNot>);

struct LogicalAnd {
  static constexpr OpInfo info{.name = "logical_and",
                               .aten = "logical_and",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "neither x nor y is zero"};
  static double ref(Doubles x) { return x[0] != 0 && x[1] != 0; }
  static Value body(Builder& b, Values x) { return b.bit_and(b.nonzero(x[0]), b.nonzero(x[1])); }
};
static_assert(Operator<LogicalAnd>);

struct LogicalOr {
  static constexpr OpInfo info{.name = "logical_or",
                               .aten = "logical_or",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "x or y is not zero"};
  static double ref(Doubles x) { return x[0] != 0 || x[1] != 0; }
  static Value body(Builder& b, Values x) { return b.bit_or(b.nonzero(x[0]), b.nonzero(x[1])); }
};
static_assert(Operator<LogicalOr>);

struct LogicalXor {
  static constexpr OpInfo info{.name = "logical_xor",
                               .aten = "logical_xor",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::Compare,
                               .doc = "exactly one of x and y is zero"};
  static double ref(Doubles x) { return (x[0] != 0) != (x[1] != 0); }
  static Value body(Builder& b, Values x) { return b.bit_xor(b.nonzero(x[0]), b.nonzero(x[1])); }
};
static_assert(Operator<LogicalXor>);

struct IsNan {
  static constexpr OpInfo info{.name = "isnan",
                               .aten = "isnan",
                               .signature = Signature::Unary,
                               .types = TypeRule::ToBool,
                               .doc = "x is NaN"};
  static double ref(Doubles x) { return std::isnan(x[0]); }
  static Value body(Builder& b, Values x) { return b.is_nan(x[0]); }
};
static_assert(Operator<IsNan>);

struct IsInf {
  static constexpr OpInfo info{.name = "isinf",
                               .aten = "isinf",
                               .signature = Signature::Unary,
                               .types = TypeRule::ToBool,
                               .doc = "x is +inf or -inf"};
  static double ref(Doubles x) { return std::isinf(x[0]); }
  static Value body(Builder& b, Values x) {
    return is_float_lane(x[0]) ? b.eq(b.abs(x[0]), infinity(b, x[0])) : b.bits(Lane::Mask, 0);
  }
};
static_assert(Operator<IsInf>);

struct IsPosInf {
  static constexpr OpInfo info{.name = "isposinf",
                               .aten = "isposinf",
                               .signature = Signature::Unary,
                               .types = TypeRule::ToBool,
                               .doc = "x is +inf"};
  static double ref(Doubles x) { return x[0] == INFINITY; }
  static Value body(Builder& b, Values x) {
    return is_float_lane(x[0]) ? b.eq(x[0], infinity(b, x[0])) : b.bits(Lane::Mask, 0);
  }
};
static_assert(Operator<IsPosInf>);

struct IsNegInf {
  static constexpr OpInfo info{.name = "isneginf",
                               .aten = "isneginf",
                               .signature = Signature::Unary,
                               .types = TypeRule::ToBool,
                               .doc = "x is -inf"};
  static double ref(Doubles x) { return x[0] == -INFINITY; }
  static Value body(Builder& b, Values x) {
    return is_float_lane(x[0]) ? b.eq(x[0], b.neg(infinity(b, x[0]))) : b.bits(Lane::Mask, 0);
  }
};
static_assert(Operator<IsNegInf>);

struct IsFinite {
  static constexpr OpInfo info{.name = "isfinite",
                               .aten = "",
                               .types = TypeRule::ToBool,
                               .doc = "x is neither infinite nor NaN"};
  static double ref(Doubles x) { return std::isfinite(x[0]); }
  static Value body(Builder& b, Values x) {
    return is_float_lane(x[0]) ? b.lt(b.abs(x[0]), infinity(b, x[0])) : b.bits(Lane::Mask, 1);
  }
};
static_assert(Operator<IsFinite>);

struct SignBit {
  static constexpr OpInfo info{
      .name = "signbit",
      .aten = "signbit",
      .signature = Signature::Unary,
      .types = TypeRule::ToBool,
      .doc = "the sign bit of a float, -0 and NaN included; x < 0 for integers"};
  static double ref(Doubles x) { return std::signbit(x[0]); }
  static Value body(Builder& b, Values x) {
    return b.lt(is_float_lane(x[0]) ? b.bits_to_int(x[0]) : x[0],
                b.constant(integer_lane(x[0]), 0));
  }
};
static_assert(Operator<SignBit>);

using Compare = OpList<Eq, Ne, Lt, Le, Gt, Ge, LogicalNot, LogicalAnd, LogicalOr, LogicalXor, IsNan,
                       IsInf, IsPosInf, IsNegInf, IsFinite, SignBit>;

}  // namespace spyre::kernels::ops
