// spyre/kernels/ops/arithmetic.h — sums, products, quotients and remainders.
#pragma once
#include <cmath>

#include "spyre/kernels/op.h"
#include "spyre/kernels/ops/quirks.h"
#include "spyre/kernels/vector_math.h"

namespace spyre::kernels::ops {

inline bool is_float_lane(Value v) { return v.lane == Lane::F32 || v.lane == Lane::F64; }

/// x * y + z: one rounding on floats, wrapping on integers.
inline Value multiply_add(Builder& b, Value x, Value y, Value z) {
  return is_float_lane(x) ? b.fma(x, y, z) : b.add(b.mul(x, y), z);
}

struct Add {
  static constexpr OpInfo info{.name = "add",
                               .aten = "add.Tensor;add.Scalar",
                               .signature = Signature::BinaryAlpha,
                               .arity = 2,
                               .select = "alpha=1",
                               .doc = "x + y; bool: or"};
  static double ref(Doubles x) { return x[0] + x[1]; }
  static Value body(Builder& b, Values x) { return quirks::sum(b, x[0], x[1], b.add(x[0], x[1])); }
};
static_assert(Operator<Add>);

struct AddScaled {
  static constexpr OpInfo info{.name = "add_scaled",
                               .aten = "add.Tensor;add.Scalar",
                               .signature = Signature::BinaryAlpha,
                               .arity = 3,
                               .doc = "x + alpha * y, one rounding; bool: or"};
  static double ref(Doubles x) { return std::fma(x[2], x[1], x[0]); }
  static Value body(Builder& b, Values x) { return multiply_add(b, x[1], x[2], x[0]); }
};
static_assert(Operator<AddScaled>);

struct Sub {
  static constexpr OpInfo info{.name = "sub",
                               .aten = "sub.Tensor;sub.Scalar",
                               .signature = Signature::BinaryAlpha,
                               .arity = 2,
                               .computes = kNumbers,
                               .select = "alpha=1",
                               .doc = "x - y"};
  static double ref(Doubles x) { return x[0] - x[1]; }
  static Value body(Builder& b, Values x) { return b.sub(x[0], x[1]); }
};
static_assert(Operator<Sub>);

struct SubScaled {
  static constexpr OpInfo info{.name = "sub_scaled",
                               .aten = "sub.Tensor;sub.Scalar",
                               .signature = Signature::BinaryAlpha,
                               .arity = 3,
                               .computes = kNumbers,
                               .doc = "x - alpha * y, one rounding"};
  static double ref(Doubles x) { return std::fma(-x[2], x[1], x[0]); }
  static Value body(Builder& b, Values x) { return multiply_add(b, x[1], b.neg(x[2]), x[0]); }
};
static_assert(Operator<SubScaled>);

struct Rsub {
  static constexpr OpInfo info{.name = "rsub",
                               .aten = "rsub.Tensor;rsub.Scalar",
                               .signature = Signature::BinaryAlpha,
                               .arity = 2,
                               .computes = kNumbers,
                               .select = "alpha=1",
                               .doc = "y - x"};
  static double ref(Doubles x) { return x[1] - x[0]; }
  static Value body(Builder& b, Values x) { return b.sub(x[1], x[0]); }
};
static_assert(Operator<Rsub>);

struct RsubScaled {
  static constexpr OpInfo info{.name = "rsub_scaled",
                               .aten = "rsub.Tensor;rsub.Scalar",
                               .signature = Signature::BinaryAlpha,
                               .arity = 3,
                               .computes = kNumbers,
                               .doc = "y - alpha * x, one rounding"};
  static double ref(Doubles x) { return std::fma(-x[2], x[0], x[1]); }
  static Value body(Builder& b, Values x) { return multiply_add(b, x[0], b.neg(x[2]), x[1]); }
};
static_assert(Operator<RsubScaled>);

struct Mul {
  static constexpr OpInfo info{.name = "mul",
                               .aten = "mul.Tensor;mul.Scalar",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .wide_scalars = true,
                               .doc = "x * y; bool: and"};
  static double ref(Doubles x) { return x[0] * x[1]; }
  static Value body(Builder& b, Values x) { return b.mul(x[0], x[1]); }
};
static_assert(Operator<Mul>);

struct Div {
  static constexpr OpInfo info{.name = "div",
                               .aten = "div.Tensor;div.Scalar;div.Tensor_mode;div.Scalar_mode",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .select = "!rounding_mode",
                               .wide_scalars = true,
                               .doc = "x / y"};
  static double ref(Doubles x) { return x[0] / x[1]; }
  static Value body(Builder& b, Values x) { return b.div(x[0], x[1]); }
};
static_assert(Operator<Div>);

struct DivTrunc {
  static constexpr OpInfo info{
      .name = "div_trunc",
      .aten = "div.Tensor_mode;div.Scalar_mode",
      .signature = Signature::FromSchema,
      .arity = 2,
      .computes = kNumbers,
      .select = "rounding_mode=trunc",
      .wide_scalars = true,
      .doc = "x / y rounded towards zero; integers: division by zero is a fault"};
  static double ref(Doubles x) { return std::trunc(x[0] / x[1]); }
  static Value body(Builder& b, Values x) {
    if (!is_float_lane(x[0])) return b.int_div_trunc(x[0], x[1]);
    return b.trunc(b.round_to_storage(b.div(x[0], x[1]), b.compute()));  // as PyTorch
  }
};
static_assert(Operator<DivTrunc>);

struct FloorDivide {
  static constexpr OpInfo info{
      .name = "floor_divide",
      .aten = "floor_divide;floor_divide.Scalar;div.Tensor_mode;div.Scalar_mode",
      .signature = Signature::FromSchema,
      .arity = 2,
      .computes = kNumbers,
      .max_ulp = 2,
      .select = "rounding_mode=floor",
      .wide_scalars = true,
      .doc = "x / y rounded down, from the exact remainder; integers: by zero is a fault"};
  static double ref(Doubles x) {
    if (x[1] == 0) return x[0] / x[1];
    const double rest = std::fmod(x[0], x[1]);
    const double towards_zero = std::nearbyint((x[0] - rest) / x[1]);
    const double whole = rest != 0 && (rest < 0) != (x[1] < 0) ? towards_zero - 1 : towards_zero;
    return whole == 0 ? std::copysign(0.0, x[0] / x[1]) : whole;
  }
  static Value body(Builder& b, Values x) {
    return is_float_lane(x[0]) ? floats(b, x) : integers(b, x);
  }

 private:
  static Value integers(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    const Value quotient = b.int_div_trunc(x[0], x[1]);
    const Value rest = b.int_rem(x[0], x[1]);
    const Value opposite = b.lt(b.bit_xor(rest, x[1]), zero);
    const Value down = b.bit_and(b.ne(rest, zero), opposite);
    return b.select(down, b.sub(quotient, b.constant(x[0], 1)), quotient);
  }
  static Value floats(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0), one = b.constant(x[0], 1);
    const Value ratio = b.div(x[0], x[1]);
    const Value rest = vector_math::library(b, MathFunction::Fmod, x[0], x[1]);
    const Value exact = b.div(b.sub(x[0], rest), x[1]);
    const Value down = b.bit_and(b.ne(rest, zero), b.bit_xor(b.lt(x[1], zero), b.lt(rest, zero)));
    const Value quotient = b.select(down, b.sub(exact, one), exact);
    const Value floor = b.floor(quotient);
    const Value up = b.lt(b.constant(x[0], 0.5), b.sub(quotient, floor));
    const Value whole = b.select(up, b.add(floor, one), floor);
    const Value nonzero =
        b.select(b.ne(quotient, zero), whole, vector_math::copysign(b, zero, ratio));
    return b.select(b.eq(x[1], zero), ratio, nonzero);
  }
};
static_assert(Operator<FloorDivide>);

struct Remainder {
  static constexpr OpInfo info{
      .name = "remainder",
      .aten = "remainder.Tensor;remainder.Scalar;remainder.Scalar_Tensor",
      .signature = Signature::FromSchema,
      .arity = 2,
      .computes = kNumbers,
      .doc = "x - floor(x / y) * y, with the sign of y; integers: by zero is a fault"};
  static double ref(Doubles x) {
    const double rest = std::fmod(x[0], x[1]);
    return rest != 0 && (rest < 0) != (x[1] < 0) ? rest + x[1] : rest;
  }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0);
    const Value rest = is_float_lane(x[0]) ? vector_math::library(b, MathFunction::Fmod, x[0], x[1])
                                           : b.int_rem(x[0], x[1]);
    const Value opposite = b.bit_xor(b.lt(x[1], zero), b.lt(rest, zero));
    return b.select(b.bit_and(b.ne(rest, zero), opposite), b.add(rest, x[1]), rest);
  }
};
static_assert(Operator<Remainder>);

struct Fmod {
  static constexpr OpInfo info{
      .name = "fmod",
      .aten = "fmod.Tensor;fmod.Scalar",
      .signature = Signature::Binary,
      .arity = 2,
      .computes = kNumbers,
      .doc = "x - trunc(x / y) * y, with the sign of x, exact; integers: by zero is a fault"};
  static double ref(Doubles x) { return std::fmod(x[0], x[1]); }
  static Value body(Builder& b, Values x) {
    return is_float_lane(x[0]) ? vector_math::library(b, MathFunction::Fmod, x[0], x[1])
                               : b.int_rem(x[0], x[1]);
  }
};
static_assert(Operator<Fmod>);

struct Neg {
  static constexpr OpInfo info{.name = "neg",
                               .aten = "neg",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "-x"};
  static double ref(Doubles x) { return -x[0]; }
  static Value body(Builder& b, Values x) { return b.neg(x[0]); }
};
static_assert(Operator<Neg>);

struct Abs {
  static constexpr OpInfo info{.name = "abs",
                               .aten = "abs",
                               .signature = Signature::Unary,
                               .computes = kNumbers,
                               .doc = "|x|; the least integer wraps to itself"};
  static double ref(Doubles x) { return std::fabs(x[0]); }
  static Value body(Builder& b, Values x) { return b.abs(x[0]); }
};
static_assert(Operator<Abs>);

struct Sign {
  static constexpr OpInfo info{.name = "sign",
                               .aten = "sign;sgn",
                               .signature = Signature::Unary,
                               .doc = "-1, 0 or 1; NaN gives 0"};
  static double ref(Doubles x) { return x[0] > 0 ? 1 : x[0] < 0 ? -1 : 0; }
  static Value body(Builder& b, Values x) {
    const Value zero = b.constant(x[0], 0), one = b.constant(x[0], 1);
    return b.select(b.gt(x[0], zero), one, b.select(b.lt(x[0], zero), b.neg(one), zero));
  }
};
static_assert(Operator<Sign>);

struct Reciprocal {
  static constexpr OpInfo info{.name = "reciprocal",
                               .aten = "reciprocal",
                               .signature = Signature::Unary,
                               .types = TypeRule::PromoteToFloat,
                               .computes = kFloats,
                               .doc = "1 / x"};
  static double ref(Doubles x) { return 1 / x[0]; }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), x[0]); }
};
static_assert(Operator<Reciprocal>);

struct Maximum {
  static constexpr OpInfo info{.name = "maximum",
                               .aten = "maximum",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .doc = "the greater of x and y; NaN if either is NaN"};
  static double ref(Doubles x) {
    return std::isnan(x[0]) || std::isnan(x[1]) ? NAN : std::fmax(x[0], x[1]);
  }
  static Value body(Builder& b, Values x) { return b.max_nan(x[0], x[1]); }
};
static_assert(Operator<Maximum>);

struct Minimum {
  static constexpr OpInfo info{.name = "minimum",
                               .aten = "minimum",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .doc = "the lesser of x and y; NaN if either is NaN"};
  static double ref(Doubles x) {
    return std::isnan(x[0]) || std::isnan(x[1]) ? NAN : std::fmin(x[0], x[1]);
  }
  static Value body(Builder& b, Values x) { return b.min_nan(x[0], x[1]); }
};
static_assert(Operator<Minimum>);

struct Fmax {
  static constexpr OpInfo info{.name = "fmax",
                               .aten = "fmax",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .doc = "the greater of x and y; the other one if either is NaN"};
  static double ref(Doubles x) { return std::fmax(x[0], x[1]); }
  static Value body(Builder& b, Values x) {
    return b.select(b.is_nan(x[0]), x[1], b.select(b.is_nan(x[1]), x[0], b.max_nan(x[0], x[1])));
  }
};
static_assert(Operator<Fmax>);

struct Fmin {
  static constexpr OpInfo info{.name = "fmin",
                               .aten = "fmin",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .doc = "the lesser of x and y; the other one if either is NaN"};
  static double ref(Doubles x) { return std::fmin(x[0], x[1]); }
  static Value body(Builder& b, Values x) {
    return b.select(b.is_nan(x[0]), x[1], b.select(b.is_nan(x[1]), x[0], b.min_nan(x[0], x[1])));
  }
};
static_assert(Operator<Fmin>);

using Arithmetic =
    OpList<Add, AddScaled, Sub, SubScaled, Rsub, RsubScaled, Mul, Div, DivTrunc, FloorDivide,
           Remainder, Fmod, Neg, Abs, Sign, Reciprocal, Maximum, Minimum, Fmax, Fmin>;

}  // namespace spyre::kernels::ops
