// spyre/kernels/vector_math.cpp — polynomials for the hot functions in F32; F64 calls the library.
#include "spyre/kernels/vector_math.h"

#include <numbers>

namespace spyre::kernels::vector_math {

Value library(Builder& b, MathFunction function, Value x) {
  return b.math1(static_cast<std::uint16_t>(function), x);
}
Value library(Builder& b, MathFunction function, Value x, Value y) {
  return b.math2(static_cast<std::uint16_t>(function), x, y);
}

Value exp(Builder& b, Value x) { return library(b, MathFunction::Exp, x); }
Value expm1(Builder& b, Value x) { return library(b, MathFunction::Expm1, x); }
Value log(Builder& b, Value x) { return library(b, MathFunction::Log, x); }
Value log1p(Builder& b, Value x) {
  // The library overflows near the largest numbers, where 1 + x is x.
  const Value large = b.lt(b.constant(x, 0x1p60), x);
  return b.select(large, log(b, x), library(b, MathFunction::Log1p, x));
}
Value tanh(Builder& b, Value x) { return library(b, MathFunction::Tanh, x); }
/// From here on sqrt(x * x + 1) is x, in both types.
Value is_large(Builder& b, Value x) { return b.lt(b.constant(x, 0x1p30), x); }
Value log_of_double(Builder& b, Value x) {
  return b.add(log(b, x), b.constant(x, std::numbers::ln2));
}

Value asinh(Builder& b, Value x) {
  const Value magnitude = b.abs(x);
  const Value large = copysign(b, log_of_double(b, magnitude), x);
  return b.select(is_large(b, magnitude), large, library(b, MathFunction::Asinh, x));
}

Value acosh(Builder& b, Value x) {
  return b.select(is_large(b, x), log_of_double(b, x), library(b, MathFunction::Acosh, x));
}

Value erf(Builder& b, Value x) { return library(b, MathFunction::Erf, x); }

SigmoidPair sigmoid_pair(Builder& b, Value x) {
  // e^-|x| never overflows, and the smaller numerator keeps the tail's precision.
  const Value one = b.constant(x, 1);
  const Value power = exp(b, b.neg(b.abs(x)));
  const Value divisor = b.add(power, one);
  const Value negative = b.lt(x, b.constant(x, 0));
  return {b.div(b.select(negative, power, one), divisor),
          b.div(b.select(negative, one, power), divisor)};
}

Value sigmoid(Builder& b, Value x) { return sigmoid_pair(b, x).of_x; }

Value copysign(Builder& b, Value x, Value y) {
  const Value sign =
      x.lane == Lane::F32 ? b.bits(Lane::I32, 0x80000000U) : b.bits(Lane::I64, 1ULL << 63);
  const Value magnitude = b.bits_to_int(b.abs(x));
  return b.bits_to_float(b.bit_or(magnitude, b.bit_and(b.bits_to_int(y), sign)));
}

}  // namespace spyre::kernels::vector_math
