// spyre/kernels/ops/exponential.h — exponentials, logarithms, roots and powers.
#pragma once
#include <cmath>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

/// x to the y for y >= 0, by the bits of y; wraps. Narrow types have few bits to look at.
inline Value power_by_squaring(Builder& b, Value x, Value y) {
  const int bits = 8 * size_of(b.compute()) - (b.compute() == DType::U8 ? 0 : 1);
  const Value one = b.constant(x, 1);
  Value result = one, square = x;
  for (int bit = 0; bit < bits; ++bit) {
    const Value set = b.nonzero(b.bit_and(y, b.bits(x.lane, std::uint64_t{1} << bit)));
    result = b.select(set, b.mul(result, square), result);
    square = b.mul(square, square);
  }
  return result;
}

/// x * f(y), but 0 where x is 0 unless y is NaN.
inline Value times_or_zero(Builder& b, Value x, Value f_of_y, Value y) {
  const Value zero = b.constant(x, 0);
  return b.select(b.is_nan(y), y, b.select(b.eq(x, zero), zero, b.mul(x, f_of_y)));
}

struct Exp {
  static constexpr OpInfo info{.name = "exp", .aten = "exp", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1, .doc = "e to the x"};
  static double ref(Doubles x) { return std::exp(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::exp(b, x[0]); }
};
static_assert(Operator<Exp>);

struct Exp2 {
  static constexpr OpInfo info{.name = "exp2", .aten = "exp2", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1, .doc = "2 to the x"};
  static double ref(Doubles x) { return std::exp2(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Exp2, x[0]); }
};
static_assert(Operator<Exp2>);

struct Expm1 {
  static constexpr OpInfo info{.name = "expm1", .aten = "expm1", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 2,
                               .doc = "e to the x, minus 1, accurate near 0"};
  static double ref(Doubles x) { return std::expm1(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::expm1(b, x[0]); }
};
static_assert(Operator<Expm1>);

struct Log {
  static constexpr OpInfo info{.name = "log", .aten = "log", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1,
                               .doc = "natural logarithm; -inf at 0, NaN below"};
  static double ref(Doubles x) { return std::log(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::log(b, x[0]); }
};
static_assert(Operator<Log>);

struct Log2 {
  static constexpr OpInfo info{.name = "log2", .aten = "log2", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1, .doc = "logarithm to base 2"};
  static double ref(Doubles x) { return std::log2(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Log2, x[0]); }
};
static_assert(Operator<Log2>);

struct Log10 {
  static constexpr OpInfo info{.name = "log10", .aten = "log10", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1, .doc = "logarithm to base 10"};
  static double ref(Doubles x) { return std::log10(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Log10, x[0]); }
};
static_assert(Operator<Log10>);

struct Log1p {
  static constexpr OpInfo info{.name = "log1p", .aten = "log1p", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 2,
                               .doc = "log(1 + x), accurate near 0"};
  static double ref(Doubles x) { return std::log1p(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::log1p(b, x[0]); }
};
static_assert(Operator<Log1p>);

struct Sqrt {
  static constexpr OpInfo info{.name = "sqrt", .aten = "sqrt", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats, .max_ulp = 0.5,
                               .doc = "square root"};
  static double ref(Doubles x) { return std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.sqrt(x[0]); }
};
static_assert(Operator<Sqrt>);

struct Rsqrt {
  static constexpr OpInfo info{.name = "rsqrt", .aten = "rsqrt", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats, .max_ulp = 1.5,
                               .doc = "1 / sqrt(x)"};
  static double ref(Doubles x) { return 1 / std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), b.sqrt(x[0])); }
};
static_assert(Operator<Rsqrt>);

struct Erf {
  static constexpr OpInfo info{.name = "erf", .aten = "erf", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 2, .doc = "error function"};
  static double ref(Doubles x) { return std::erf(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::erf(b, x[0]); }
};
static_assert(Operator<Erf>);

struct Erfc {
  static constexpr OpInfo info{.name = "erfc", .aten = "erfc", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1.5,
                               .doc = "1 - erf(x), accurate in the tail"};
  static double ref(Doubles x) { return std::erfc(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Erfc, x[0]); }
};
static_assert(Operator<Erfc>);

struct Lgamma {
  static constexpr OpInfo info{.name = "lgamma", .aten = "lgamma", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 2, .cancels = true,
                               .doc = "logarithm of |gamma(x)|"};
  static double ref(Doubles x) { return std::lgamma(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Lgamma, x[0]); }
};
static_assert(Operator<Lgamma>);

struct Square {
  static constexpr OpInfo info{.name = "square", .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema, .computes = kNumbers, .select = "exponent=2",
                               .doc = "x * x"};
  static double ref(Doubles x) { return x[0] * x[0]; }
  static Value body(Builder& b, Values x) { return b.mul(x[0], x[0]); }
};
static_assert(Operator<Square>);

struct Cube {
  static constexpr OpInfo info{.name = "cube", .aten = "pow.Tensor_Scalar", .signature = Signature::FromSchema,
                               .computes = kNumbers, .max_ulp = 1.5, .select = "exponent=3",
                               .doc = "x * x * x"};
  static double ref(Doubles x) { return x[0] * x[0] * x[0]; }
  static Value body(Builder& b, Values x) { return b.mul(b.mul(x[0], x[0]), x[0]); }
};
static_assert(Operator<Cube>);

struct PowHalf {
  static constexpr OpInfo info{.name = "pow_half", .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema, .computes = kFloats,
                               .select = "exponent=0.5", .doc = "x to the 0.5: sqrt(x)"};
  static double ref(Doubles x) { return std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.sqrt(x[0]); }
};
static_assert(Operator<PowHalf>);

struct PowMinusHalf {
  static constexpr OpInfo info{.name = "pow_minus_half", .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema, .computes = kFloats, .max_ulp = 1.5,
                               .select = "exponent=-0.5", .doc = "x to the -0.5: 1 / sqrt(x)"};
  static double ref(Doubles x) { return 1 / std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), b.sqrt(x[0])); }
};
static_assert(Operator<PowMinusHalf>);

struct PowMinusOne {
  static constexpr OpInfo info{.name = "pow_minus_one", .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema, .computes = kFloats, .select = "exponent=-1",
                               .doc = "x to the -1: 1 / x"};
  static double ref(Doubles x) { return 1 / x[0]; }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), x[0]); }
};
static_assert(Operator<PowMinusOne>);

struct PowMinusTwo {
  static constexpr OpInfo info{.name = "pow_minus_two", .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema, .computes = kFloats, .max_ulp = 2,
                               .select = "exponent=-2", .doc = "x to the -2: 1 / (x * x)"};
  static double ref(Doubles x) { return 1 / (x[0] * x[0]); }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), b.mul(x[0], x[0])); }
};
static_assert(Operator<PowMinusTwo>);

struct Pow {
  static constexpr OpInfo info{.name = "pow", .aten = "pow.Tensor_Tensor;pow.Tensor_Scalar;pow.Scalar",
                               .signature = Signature::FromSchema, .arity = 2, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 1, .doc = "x to the y"};
  static double ref(Doubles x) { return std::pow(x[0], x[1]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Pow, x[0], x[1]); }
};
static_assert(Operator<Pow>);

struct IntPow {
  static constexpr OpInfo info{.name = "int_pow", .aten = "pow.Tensor_Tensor;pow.Tensor_Scalar;pow.Scalar",
                               .signature = Signature::FromSchema, .arity = 2, .computes = kIntegers,
                               .doc = "x to the y, wrapping; a negative power of anything but 1 and -1 is 0"};
  static double ref(Doubles x) {
    if (x[1] < 0) return x[0] == 1 ? 1 : x[0] == -1 ? (std::fmod(x[1], 2) == 0 ? 1 : -1) : 0;
    return std::pow(x[0], x[1]);
  }
  static Value body(Builder& b, Values x) {
    const Value one = b.constant(x[0], 1), zero = b.constant(x[0], 0);
    const Value odd = b.nonzero(b.bit_and(x[1], one));
    const Value sign = b.select(odd, x[0], b.mul(x[0], x[0]));
    const Value unit = b.eq(b.mul(x[0], x[0]), one);
    const Value negative_power = b.select(unit, sign, zero);
    return b.select(b.lt(x[1], zero), negative_power, power_by_squaring(b, x[0], x[1]));
  }
};
static_assert(Operator<IntPow>);

struct Xlogy {
  static constexpr OpInfo info{.name = "xlogy", .aten = "xlogy.Tensor;xlogy.Scalar_Self;xlogy.Scalar_Other",
                               .signature = Signature::FromSchema, .arity = 2,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 2,
                               .doc = "x * log(y); 0 where x is 0 and y is not NaN"};
  static double ref(Doubles x) { return std::isnan(x[1]) ? NAN : x[0] == 0 ? 0 : x[0] * std::log(x[1]); }
  static Value body(Builder& b, Values x) { return times_or_zero(b, x[0], vector_math::log(b, x[1]), x[1]); }
};
static_assert(Operator<Xlogy>);

struct Xlog1py {
  static constexpr OpInfo info{.name = "xlog1py",
                               .aten = "special_xlog1py;special_xlog1py.self_scalar;special_xlog1py.other_scalar",
                               .signature = Signature::FromSchema, .arity = 2,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 3,
                               .doc = "x * log1p(y); 0 where x is 0 and y is not NaN"};
  static double ref(Doubles x) { return std::isnan(x[1]) ? NAN : x[0] == 0 ? 0 : x[0] * std::log1p(x[1]); }
  static Value body(Builder& b, Values x) { return times_or_zero(b, x[0], vector_math::log1p(b, x[1]), x[1]); }
};
static_assert(Operator<Xlog1py>);

struct Entr {
  static constexpr OpInfo info{.name = "entr", .aten = "special_entr", .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat, .computes = kFloats,
                               .cost = Cost::Transcendental, .max_ulp = 2,
                               .doc = "-x * log(x); 0 at 0, -inf below"};
  static double ref(Doubles x) {
    return std::isnan(x[0]) ? x[0] : x[0] > 0 ? -x[0] * std::log(x[0]) : x[0] == 0 ? 0 : -INFINITY;
  }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    const Value at_most_zero = b.select(b.eq(x[0], zero), zero, b.constant(x[0], -INFINITY));
    return b.select(b.le(x[0], zero), at_most_zero, b.mul(b.neg(x[0]), vector_math::log(b, x[0])));
  }
};
static_assert(Operator<Entr>);

struct LogAddExp {
  static constexpr OpInfo info{.name = "logaddexp", .aten = "logaddexp", .signature = Signature::Binary,
                               .arity = 2, .computes = kFloats, .cost = Cost::Transcendental, .max_ulp = 3,
                               .cancels = true, .doc = "log(exp(x) + exp(y)) without overflow"};
  static double ref(Doubles x) {
    if (std::isinf(x[0]) && x[0] == x[1]) return x[0];
    return std::fmax(x[0], x[1]) + std::log1p(std::exp(-std::fabs(x[0] - x[1])));
  }
  static Value body(Builder& b, Values x) {
    const Value most = b.max_nan(x[0], x[1]);
    const Value gap = b.neg(b.abs(b.sub(x[0], x[1])));
    const Value sum = b.add(most, vector_math::log1p(b, vector_math::exp(b, gap)));
    const Value same_infinity = b.bit_and(b.eq(x[0], x[1]), b.eq(b.abs(x[0]), b.constant(x[0], INFINITY)));
    return b.select(same_infinity, x[0], sum);
  }
};
static_assert(Operator<LogAddExp>);

struct Hypot {
  static constexpr OpInfo info{.name = "hypot", .aten = "hypot", .signature = Signature::Binary, .arity = 2,
                               .computes = kFloats, .cost = Cost::Transcendental, .max_ulp = 1,
                               .doc = "sqrt(x * x + y * y) without overflow"};
  static double ref(Doubles x) { return std::hypot(x[0], x[1]); }
  static Value body(Builder& b, Values x) { return vector_math::library(b, MathFunction::Hypot, x[0], x[1]); }
};
static_assert(Operator<Hypot>);

struct Copysign {
  static constexpr OpInfo info{.name = "copysign", .aten = "copysign.Tensor;copysign.Scalar",
                               .signature = Signature::Binary, .arity = 2, .types = TypeRule::PromoteToFloat,
                               .computes = kFloats, .doc = "|x| with the sign bit of y"};
  static double ref(Doubles x) { return std::copysign(x[0], x[1]); }
  static Value body(Builder& b, Values x) { return vector_math::copysign(b, x[0], x[1]); }
};
static_assert(Operator<Copysign>);

struct Heaviside {
  static constexpr OpInfo info{.name = "heaviside", .aten = "heaviside", .signature = Signature::Binary,
                               .arity = 2, .doc = "0 below 0, 1 above, y at 0; NaN gives 0"};
  static double ref(Doubles x) { return x[0] == 0 ? x[1] : x[0] > 0 ? 1 : 0; }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    return b.select(b.eq(x[0], zero), x[1], b.select(b.gt(x[0], zero), b.constant(x[0], 1), zero));
  }
};
static_assert(Operator<Heaviside>);

using Exponential = OpList<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Erf, Erfc,
                           Lgamma, Square, Cube, PowHalf, PowMinusHalf, PowMinusOne, PowMinusTwo,
                           Pow, IntPow, Xlogy, Xlog1py, Entr, LogAddExp, Hypot, Copysign,
                           Heaviside>;

}  // namespace spyre::kernels::ops
