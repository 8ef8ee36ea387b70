// spyre/kernels/ops/exponential.h — exponentials, logarithms, roots and powers.
#pragma once
#include <cmath>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

/// x * f(y), but 0 where x is 0 unless y is NaN.
inline Value times_or_zero(Builder& b, Value x, Value f_of_y, Value y) {
  const Value zero = b.constant(x, 0);
  return b.select(b.is_nan(y), y, b.select(b.eq(x, zero), zero, b.mul(x, f_of_y)));
}

struct Exp {
  static constexpr OpInfo info{.name = "exp",
                               .aten = "exp",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "e to the x"};
  static double ref(Doubles x) { return std::exp(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::exp(b, x[0]); }
};
static_assert(Operator<Exp>);

struct Exp2 {
  static constexpr OpInfo info{.name = "exp2",
                               .aten = "exp2",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "2 to the x"};
  static double ref(Doubles x) { return std::exp2(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Exp2, x[0]);
  }
};
static_assert(Operator<Exp2>);

struct Expm1 {
  static constexpr OpInfo info{.name = "expm1",
                               .aten = "expm1",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .doc = "e to the x, minus 1, accurate near 0"};
  static double ref(Doubles x) { return std::expm1(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::expm1(b, x[0]); }
};
static_assert(Operator<Expm1>);

struct Log {
  static constexpr OpInfo info{.name = "log",
                               .aten = "log",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "natural logarithm; -inf at 0, NaN below"};
  static double ref(Doubles x) { return std::log(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::log(b, x[0]); }
};
static_assert(Operator<Log>);

struct Log2 {
  static constexpr OpInfo info{.name = "log2",
                               .aten = "log2",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "logarithm to base 2"};
  static double ref(Doubles x) { return std::log2(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Log2, x[0]);
  }
};
static_assert(Operator<Log2>);

struct Log10 {
  static constexpr OpInfo info{.name = "log10",
                               .aten = "log10",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "logarithm to base 10"};
  static double ref(Doubles x) { return std::log10(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Log10, x[0]);
  }
};
static_assert(Operator<Log10>);

struct Log1p {
  static constexpr OpInfo info{.name = "log1p",
                               .aten = "log1p",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .doc = "log(1 + x), accurate near 0"};
  static double ref(Doubles x) { return std::log1p(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::log1p(b, x[0]); }
};
static_assert(Operator<Log1p>);

struct Sqrt {
  static constexpr OpInfo info{.name = "sqrt",
                               .aten = "sqrt",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .max_ulp = 0.5,
                               .doc = "square root"};
  static double ref(Doubles x) { return std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.sqrt(x[0]); }
};
static_assert(Operator<Sqrt>);

struct Rsqrt {
  static constexpr OpInfo info{.name = "rsqrt",
                               .aten = "rsqrt",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .max_ulp = 1.5,
                               .doc = "1 / sqrt(x)"};
  static double ref(Doubles x) { return 1 / std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), b.sqrt(x[0])); }
};
static_assert(Operator<Rsqrt>);

struct Erf {
  static constexpr OpInfo info{.name = "erf",
                               .aten = "erf",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .doc = "error function"};
  static double ref(Doubles x) { return std::erf(x[0]); }
  static Value body(Builder& b, Values x) { return vector_math::erf(b, x[0]); }
};
static_assert(Operator<Erf>);

struct Erfc {
  static constexpr OpInfo info{.name = "erfc",
                               .aten = "erfc",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1.5,
                               .doc = "1 - erf(x), accurate in the tail"};
  static double ref(Doubles x) { return std::erfc(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Erfc, x[0]);
  }
};
static_assert(Operator<Erfc>);

struct Lgamma {
  static constexpr OpInfo info{.name = "lgamma",
                               .aten = "lgamma",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .cancels = true,
                               .doc = "logarithm of |gamma(x)|"};
  static double ref(Doubles x) { return std::lgamma(x[0]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Lgamma, x[0]);
  }
};
static_assert(Operator<Lgamma>);

struct Xlogy {
  static constexpr OpInfo info{.name = "xlogy",
                               .aten = "xlogy.Tensor;xlogy.Scalar_Self;xlogy.Scalar_Other",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
                               .doc = "x * log(y); 0 where x is 0 and y is not NaN"};
  static double ref(Doubles x) {
    return std::isnan(x[1]) ? NAN : x[0] == 0 ? 0 : x[0] * std::log(x[1]);
  }
  static Value body(Builder& b, Values x) {
    return times_or_zero(b, x[0], vector_math::log(b, x[1]), x[1]);
  }
};
static_assert(Operator<Xlogy>);

struct Xlog1py {
  static constexpr OpInfo info{
      .name = "xlog1py",
      .aten = "special_xlog1py;special_xlog1py.self_scalar;special_xlog1py.other_scalar",
      .signature = Signature::FromSchema,
      .arity = 2,
      .types = TypeRule::PromoteToFloat,
      .computes = kFloats,
      .cost = Cost::Transcendental,
      .max_ulp = 3,
      .doc = "x * log1p(y); 0 where x is 0 and y is not NaN"};
  static double ref(Doubles x) {
    return std::isnan(x[1]) ? NAN : x[0] == 0 ? 0 : x[0] * std::log1p(x[1]);
  }
  static Value body(Builder& b, Values x) {
    return times_or_zero(b, x[0], vector_math::log1p(b, x[1]), x[1]);
  }
};
static_assert(Operator<Xlog1py>);

struct Entr {
  static constexpr OpInfo info{.name = "entr",
                               .aten = "special_entr",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 2,
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
  static constexpr OpInfo info{.name = "logaddexp",
                               .aten = "logaddexp",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 3,
                               .cancels = true,
                               .doc = "log(exp(x) + exp(y)) without overflow"};
  static double ref(Doubles x) {
    if (std::isinf(x[0]) && x[0] == x[1]) return x[0];
    return std::fmax(x[0], x[1]) + std::log1p(std::exp(-std::fabs(x[0] - x[1])));
  }
  static Value body(Builder& b, Values x) {
    const Value most = b.max_nan(x[0], x[1]);
    const Value gap = b.neg(b.abs(b.sub(x[0], x[1])));
    const Value sum = b.add(most, vector_math::log1p(b, vector_math::exp(b, gap)));
    const Value same_infinity =
        b.bit_and(b.eq(x[0], x[1]), b.eq(b.abs(x[0]), b.constant(x[0], INFINITY)));
    return b.select(same_infinity, x[0], sum);
  }
};
static_assert(Operator<LogAddExp>);

struct Copysign {
  static constexpr OpInfo info{.name = "copysign",
                               .aten = "copysign.Tensor;copysign.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .doc = "|x| with the sign bit of y"};
  static double ref(Doubles x) { return std::copysign(x[0], x[1]); }
  static Value body(Builder& b, Values x) { return vector_math::copysign(b, x[0], x[1]); }
};
static_assert(Operator<Copysign>);

struct Heaviside {
  static constexpr OpInfo info{.name = "heaviside",
                               .aten = "heaviside",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .doc = "0 below 0, 1 above, y at 0; NaN gives 0"};
  static double ref(Doubles x) { return x[0] == 0 ? x[1] : x[0] > 0 ? 1 : 0; }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    return b.select(b.eq(x[0], zero), x[1], b.select(b.gt(x[0], zero), b.constant(x[0], 1), zero));
  }
};
static_assert(Operator<Heaviside>);

using Exponential = OpList<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Erf, Erfc,
                           Lgamma, Xlogy, Xlog1py, Entr, LogAddExp, Copysign, Heaviside>;

}  // namespace spyre::kernels::ops
