// spyre/kernels/ops/power.h — squares, cubes, roots and general powers.
#pragma once
#include <cmath>
#include <cstdint>

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

struct Square {
  static constexpr OpInfo info{.name = "square",
                               .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema,
                               .computes = kNumbers,
                               .select = "exponent=2",
                               .doc = "x * x"};
  static double ref(Doubles x) { return x[0] * x[0]; }
  static Value body(Builder& b, Values x) { return b.mul(x[0], x[0]); }
};
static_assert(Operator<Square>);

struct Cube {
  static constexpr OpInfo info{.name = "cube",
                               .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema,
                               .computes = kNumbers,
                               .max_ulp = 1.5,
                               .select = "exponent=3",
                               .doc = "x * x * x"};
  static double ref(Doubles x) { return x[0] * x[0] * x[0]; }
  static Value body(Builder& b, Values x) { return b.mul(b.mul(x[0], x[0]), x[0]); }
};
static_assert(Operator<Cube>);

/// PyTorch takes the general power in float16, which differs at -inf and -0.
inline constexpr DTypeSet kSquareRootPowers = DTypeSet::range(DType::BF16, DType::F64);

struct PowHalf {
  static constexpr OpInfo info{.name = "pow_half",
                               .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema,
                               .computes = kSquareRootPowers,
                               .select = "exponent=0.5",
                               .doc = "x to the 0.5: sqrt(x)"};
  static double ref(Doubles x) { return std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.sqrt(x[0]); }
};
static_assert(Operator<PowHalf>);

struct PowMinusHalf {
  static constexpr OpInfo info{.name = "pow_minus_half",
                               .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema,
                               .computes = kSquareRootPowers,
                               .max_ulp = 1.5,
                               .select = "exponent=-0.5",
                               .doc = "x to the -0.5: 1 / sqrt(x)"};
  static double ref(Doubles x) { return 1 / std::sqrt(x[0]); }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), b.sqrt(x[0])); }
};
static_assert(Operator<PowMinusHalf>);

struct PowMinusOne {
  static constexpr OpInfo info{.name = "pow_minus_one",
                               .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema,
                               .computes = kFloats,
                               .select = "exponent=-1",
                               .doc = "x to the -1: 1 / x"};
  static double ref(Doubles x) { return 1 / x[0]; }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), x[0]); }
};
static_assert(Operator<PowMinusOne>);

struct PowMinusTwo {
  static constexpr OpInfo info{.name = "pow_minus_two",
                               .aten = "pow.Tensor_Scalar",
                               .signature = Signature::FromSchema,
                               .computes = kFloats,
                               .max_ulp = 2,
                               .select = "exponent=-2",
                               .doc = "x to the -2: 1 / (x * x)"};
  static double ref(Doubles x) { return 1 / (x[0] * x[0]); }
  static Value body(Builder& b, Values x) { return b.div(b.constant(x[0], 1), b.mul(x[0], x[0])); }
};
static_assert(Operator<PowMinusTwo>);

struct Pow {
  static constexpr OpInfo info{.name = "pow",
                               .aten = "pow.Tensor_Tensor;pow.Tensor_Scalar;pow.Scalar",
                               .signature = Signature::FromSchema,
                               .arity = 2,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "x to the y"};
  static double ref(Doubles x) { return std::pow(x[0], x[1]); }
  static Value body(Builder& b, Values x) {
    // SLEEF overflows on the way where the first power of the largest values is asked for.
    const Value power = vector_math::library(b, MathFunction::Pow, x[0], x[1]);
    return b.select(b.eq(x[1], b.constant(x[1], 1)), x[0], power);
  }
};
static_assert(Operator<Pow>);

struct IntPow {
  static constexpr OpInfo info{
      .name = "int_pow",
      .aten = "pow.Tensor_Tensor;pow.Tensor_Scalar;pow.Scalar",
      .signature = Signature::FromSchema,
      .arity = 2,
      .computes = kIntegers,
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

struct Hypot {
  static constexpr OpInfo info{.name = "hypot",
                               .aten = "hypot",
                               .signature = Signature::Binary,
                               .arity = 2,
                               .computes = kFloats,
                               .cost = Cost::Transcendental,
                               .max_ulp = 1,
                               .doc = "sqrt(x * x + y * y) without overflow"};
  static double ref(Doubles x) { return std::hypot(x[0], x[1]); }
  static Value body(Builder& b, Values x) {
    return vector_math::library(b, MathFunction::Hypot, x[0], x[1]);
  }
};
static_assert(Operator<Hypot>);

using Power =
    OpList<Square, Cube, PowHalf, PowMinusHalf, PowMinusOne, PowMinusTwo, Pow, IntPow, Hypot>;

}  // namespace spyre::kernels::ops
