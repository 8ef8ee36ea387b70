// spyre/kernels/vector_math.cpp — polynomials for the hot functions in F32; F64 calls the library.
//
// Coefficients are minimax fits (Remez exchange on the weighted error, 40 digits, then rounded to float32).
#include "spyre/kernels/vector_math.h"

#include <cmath>
#include <initializer_list>
#include <iterator>
#include <numbers>

namespace spyre::kernels::vector_math {
namespace {

/// c[0] + c[1] x + c[2] x^2 + …
Value polynomial(Builder& b, Value x, std::initializer_list<double> c) {
  auto next = std::rbegin(c);
  Value sum = b.constant(x, *next);
  while (++next != std::rend(c)) sum = b.fma(sum, x, b.constant(x, *next));
  return sum;
}

/// Replaces what is below (above) a bound; NaN passes.
Value raise_to(Builder& b, Value x, double low) { return b.max_nan(x, b.constant(x, low)); }
Value lower_to(Builder& b, Value x, double high) { return b.min_nan(x, b.constant(x, high)); }

constexpr double kLn2High = static_cast<float>(std::numbers::ln2);
constexpr double kLn2Low = std::numbers::ln2 - kLn2High;
constexpr double kLog2E = std::numbers::log2e;
constexpr std::uint64_t kOneBits = 0x3f800000;

/// x = n ln 2 + r with whole n and |r| <= ln 2 / 2. `exponent` is n in the exponent field of a float32.
struct Reduced {
  Value r, n, exponent;
};

Reduced reduce(Builder& b, Value x) {
  // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits of the sum.
  const Value shifter = b.constant(x, 0x1.8p23);
  const Value shifted = b.fma(x, b.constant(x, kLog2E), shifter);
  const Value n = b.sub(shifted, shifter);
  const Value near = b.fma(n, b.constant(x, -kLn2High), x);
  const Value r = b.fma(n, b.constant(x, -kLn2Low), near);
  return {r, n, b.shl(b.bits_to_int(shifted), b.constant(Lane::I32, 23))};
}

/// e^r - 1 for |r| <= ln 2 / 2.
Value small_expm1(Builder& b, Value r) {
  const Value tail = polynomial(b, r,
                                {0.49999993432129536, 0.16666520399043294, 0.04166839078349953,
                                 0.008368745108871561, 0.001381454017909721});
  return b.fma(b.mul(r, r), tail, r);
}

/// 2^(n + shift), if it is a normal number.
Value power_of_two(Builder& b, Value exponent, std::uint64_t one_bits = kOneBits) {
  return b.bits_to_float(b.add(exponent, b.bits(Lane::I32, one_bits)));
}

/// e^x for x <= 89; underflows gradually, with one rounding.
Value exp_f32(Builder& b, Value x) {
  const Reduced reduced = reduce(b, raise_to(b, x, -104));
  return b.scale(b.add(small_expm1(b, reduced.r), b.constant(x, 1)), reduced.n);
}

Value expm1_f32(Builder& b, Value x) {
  const Reduced reduced = reduce(b, lower_to(b, raise_to(b, x, -18), 89));
  const Value q = small_expm1(b, reduced.r);
  // Half of the result first: 2^128 is not a number.
  const Value scale = power_of_two(b, reduced.exponent, kOneBits - 0x800000);
  const Value half = b.fma(q, scale, b.sub(scale, b.constant(x, 0.5)));
  const Value tiny = b.lt(b.abs(x), b.constant(x, 0x1p-24));
  return b.select(tiny, x, b.add(half, half));
}

/// log(1 + f) + e ln 2 for 1 + f in [sqrt(1/2), sqrt(2)).
Value log_of_parts(Builder& b, Value f, Value e) {
  const Value tail = polynomial(
      b, f,
      {-0.5, 0.3333333170778876, -0.25000821028518944, 0.2000122687313882, -0.16623357535415537,
       0.1420175799786838, -0.13160180462077312, 0.12761577348500783, -0.07634502920156946});
  const Value curve = b.mul(b.mul(f, f), tail);
  const Value low = b.add(f, b.fma(e, b.constant(f, kLn2Low), curve));
  return b.fma(e, b.constant(f, kLn2High), low);
}

/// The exponent e of u > 0 when its significand is to lie in [sqrt(1/2), sqrt(2)), I32.
Value exponent_of(Builder& b, Value bits) {
  return b.shr_arith(b.sub(bits, b.bits(Lane::I32, 0x3f3504f3)), b.constant(Lane::I32, 23));
}

/// `y` where the argument of the logarithm is positive and finite, else what the logarithm is there.
Value with_log_specials(Builder& b, Value u, Value y) {
  const Value zero = b.constant(u, 0), infinity = b.constant(u, INFINITY);
  const Value at_zero = b.select(b.eq(u, zero), b.neg(infinity), u);
  const Value special = b.select(b.lt(u, zero), b.constant(u, NAN), at_zero);
  return b.select(b.bit_and(b.lt(zero, u), b.lt(u, infinity)), y, special);
}

Value log_f32(Builder& b, Value x) {
  const Value subnormal = b.lt(x, b.constant(x, 0x1p-126));
  const Value u = b.select(subnormal, b.mul(x, b.constant(x, 0x1p23)), x);
  const Value shift = b.select(subnormal, b.constant(x, -23), b.constant(x, 0));
  const Value bits = b.bits_to_int(u);
  const Value e = exponent_of(b, bits);
  const Value significand = b.bits_to_float(b.sub(bits, b.shl(e, b.constant(Lane::I32, 23))));
  const Value f = b.sub(significand, b.constant(x, 1));
  return with_log_specials(b, x, log_of_parts(b, f, b.add(b.convert(e, Lane::F32), shift)));
}

Value log1p_f32(Builder& b, Value x) {
  const Value one = b.constant(x, 1), quarter = b.constant(x, 0.25);
  const Value u = b.add(x, one);
  const Value e = exponent_of(b, b.bits_to_int(u));
  // f = (1 + x) 2^-e - 1 from x itself, not from the rounded sum. 4 * 2^-e is normal for every e.
  const Value field = b.shl(e, b.constant(Lane::I32, 23));
  const Value scale = b.bits_to_float(b.sub(b.bits(Lane::I32, 0x40800000), field));
  const Value f = b.fma(b.mul(x, quarter), scale, b.fma(scale, quarter, b.neg(one)));
  const Value y = with_log_specials(b, u, log_of_parts(b, f, b.convert(e, Lane::F32)));
  return b.select(b.lt(b.abs(x), b.constant(x, 0x1p-24)), x, y);
}

/// m / (m + 2) with m = e^(2 |x|) - 1; from |x| = 10 on it is 1.
Value tanh_f32(Builder& b, Value x) {
  const Value magnitude = b.abs(x);
  const Reduced reduced = reduce(b, lower_to(b, b.add(magnitude, magnitude), 20));
  const Value scale = power_of_two(b, reduced.exponent);
  const Value m = b.fma(small_expm1(b, reduced.r), scale, b.sub(scale, b.constant(x, 1)));
  return copysign(b, b.div(m, b.add(m, b.constant(x, 2))), x);
}

/// 1 - e^-g(|x|) with a polynomial g from 0.92 on, x + x h(x^2) below; from |x| = 4 on it is 1.
Value erf_f32(Builder& b, Value x) {
  const Value magnitude = lower_to(b, b.abs(x), 4);
  const Value g = polynomial(
      b, magnitude,
      {-0.00020548487843083388, -1.127633665122111, -0.6372552556715276, -0.10386554066629691,
       0.02219417335429034, -0.0030347899749724938, 0.00019505811600918833});
  const Reduced reduced = reduce(b, g);
  const Value p = b.add(small_expm1(b, reduced.r), b.constant(x, 1));
  const Value outer = b.fma(b.neg(p), power_of_two(b, reduced.exponent), b.constant(x, 1));
  const Value h = polynomial(b, b.mul(x, x),
                             {0.12837914996194444, -0.376124964598621, 0.11281845950620564,
                              -0.026767719930378017, 0.004994830353523232, -0.0005999406131418445});
  const Value near_zero = b.lt(magnitude, b.constant(x, 0.92));
  return b.select(near_zero, b.fma(h, x, x), copysign(b, outer, x));
}

bool is_f32(Value x) { return x.lane == Lane::F32; }

/// Numerators of sigmoid(x) and sigmoid(-x), and their common divisor.
struct LogisticParts {
  Value of_x, of_minus_x, divisor;
};

LogisticParts logistic_parts(Builder& b, Value x) {
  // e^-|x| never overflows, and the smaller numerator keeps the tail's precision.
  const Value one = b.constant(x, 1);
  const Value argument = b.neg(b.abs(x));
  const Value power = is_f32(x) ? exp_f32(b, argument) : exp(b, argument);
  const Value negative = b.lt(x, b.constant(x, 0));
  return {b.select(negative, power, one), b.select(negative, one, power), b.add(power, one)};
}

/// e^x / 2 for large x, also where e^x is infinite.
Value half_of_exp(Builder& b, Value x) {
  const Value half = b.constant(x, 0.5);
  const Value root = exp(b, b.mul(x, half));
  return b.mul(b.mul(root, half), root);
}
Value nears_overflow(Builder& b, Value x) { return b.lt(b.constant(x, is_f32(x) ? 80 : 700), x); }

/// From here on sqrt(x * x + 1) is x, in both types.
Value is_large(Builder& b, Value x) { return b.lt(b.constant(x, 0x1p30), x); }
Value log_of_double(Builder& b, Value x) {
  return b.add(log(b, x), b.constant(x, std::numbers::ln2));
}

}  // namespace

Value library(Builder& b, MathFunction function, Value x) {
  return b.math1(static_cast<std::uint16_t>(function), x);
}
Value library(Builder& b, MathFunction function, Value x, Value y) {
  return b.math2(static_cast<std::uint16_t>(function), x, y);
}

Value exp(Builder& b, Value x) {
  return is_f32(x) ? exp_f32(b, lower_to(b, x, 89)) : library(b, MathFunction::Exp, x);
}
Value expm1(Builder& b, Value x) {
  return is_f32(x) ? expm1_f32(b, x) : library(b, MathFunction::Expm1, x);
}
Value log(Builder& b, Value x) {
  return is_f32(x) ? log_f32(b, x) : library(b, MathFunction::Log, x);
}
Value tanh(Builder& b, Value x) {
  return is_f32(x) ? tanh_f32(b, x) : library(b, MathFunction::Tanh, x);
}
Value erf(Builder& b, Value x) {
  return is_f32(x) ? erf_f32(b, x) : library(b, MathFunction::Erf, x);
}

Value log1p(Builder& b, Value x) {
  if (is_f32(x)) return log1p_f32(b, x);
  // The library overflows near the largest numbers, where 1 + x is x.
  const Value large = b.lt(b.constant(x, 0x1p60), x);
  return b.select(large, log(b, x), library(b, MathFunction::Log1p, x));
}

Value sigmoid(Builder& b, Value x) {
  const LogisticParts parts = logistic_parts(b, x);
  return b.div(parts.of_x, parts.divisor);
}

SigmoidPair sigmoid_pair(Builder& b, Value x) {
  const LogisticParts parts = logistic_parts(b, x);
  return {b.div(parts.of_x, parts.divisor), b.div(parts.of_minus_x, parts.divisor)};
}

Value sinh(Builder& b, Value x) {
  const Value magnitude = b.abs(x);
  const Value large = copysign(b, half_of_exp(b, magnitude), x);
  return b.select(nears_overflow(b, magnitude), large, library(b, MathFunction::Sinh, x));
}

Value cosh(Builder& b, Value x) {
  const Value magnitude = b.abs(x);
  return b.select(nears_overflow(b, magnitude), half_of_exp(b, magnitude),
                  library(b, MathFunction::Cosh, x));
}

Value asinh(Builder& b, Value x) {
  const Value magnitude = b.abs(x);
  const Value large = copysign(b, log_of_double(b, magnitude), x);
  return b.select(is_large(b, magnitude), large, library(b, MathFunction::Asinh, x));
}

Value acosh(Builder& b, Value x) {
  return b.select(is_large(b, x), log_of_double(b, x), library(b, MathFunction::Acosh, x));
}

Value copysign(Builder& b, Value x, Value y) {
  const Value sign = is_f32(x) ? b.bits(Lane::I32, 0x80000000U) : b.bits(Lane::I64, 1ULL << 63);
  const Value magnitude = b.bits_to_int(b.abs(x));
  return b.bits_to_float(b.bit_or(magnitude, b.bit_and(b.bits_to_int(y), sign)));
}

}  // namespace spyre::kernels::vector_math
