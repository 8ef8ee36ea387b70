// spyre/kernels/vector_math.cpp — polynomials for the hot functions in F32; F64 calls the library.
#include "spyre/kernels/vector_math.h"

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
Value log1p(Builder& b, Value x) { return library(b, MathFunction::Log1p, x); }
Value tanh(Builder& b, Value x) { return library(b, MathFunction::Tanh, x); }
Value erf(Builder& b, Value x) { return library(b, MathFunction::Erf, x); }

Value sigmoid(Builder& b, Value x) {
  // e^-|x| never overflows, and the smaller numerator keeps the tail's precision.
  const Value one = b.constant(x, 1);
  const Value power = exp(b, b.neg(b.abs(x)));
  const Value numerator = b.select(b.lt(x, b.constant(x, 0)), power, one);
  return b.div(numerator, b.add(power, one));
}

Value copysign(Builder& b, Value x, Value y) {
  const Value sign =
      x.lane == Lane::F32 ? b.bits(Lane::I32, 0x80000000U) : b.bits(Lane::I64, 1ULL << 63);
  const Value magnitude = b.bits_to_int(b.abs(x));
  return b.bits_to_float(b.bit_or(magnitude, b.bit_and(b.bits_to_int(y), sign)));
}

}  // namespace spyre::kernels::vector_math
