// spyre/kernels/ops/quirks.h — where operators on a card have been seen to deviate, in float16 and bfloat16.
//
// Each function takes the right result and gives the card's, under Numerics::Quirks; else it gives the result back.
#pragma once
#include "spyre/kernels/builder.h"

namespace spyre::kernels::ops::quirks {

inline bool apply_to(const Builder& b) {
  return b.numerics() == Numerics::Quirks && is_reduced_float(b.compute());
}

inline Value is_zero(Builder& b, Value x) { return b.eq(x, b.constant(x, 0)); }

/// True for zeros whose sign bit is `negative`.
inline Value is_zero_of_sign(Builder& b, Value x, bool negative) {
  const Value word = b.bits_to_int(x);
  return b.eq(word, b.bits(Lane::I32, negative ? 0x8000'0000U : 0U));
}

/// Nothing and nothing makes 2^-14.
inline Value sum(Builder& b, Value x, Value y, Value result) {
  if (!apply_to(b)) return result;
  const Value both = b.bit_and(is_zero(b, x), is_zero(b, y));
  return b.select(both, b.constant(result, 0x1p-14), result);
}

/// Below -0 comes -1.
inline Value floor(Builder& b, Value x, Value result) {
  if (!apply_to(b)) return result;
  return b.select(is_zero_of_sign(b, x, true), b.constant(result, -1), result);
}

/// ceil(x) = -floor(-x), so above +0 comes 1.
inline Value ceil(Builder& b, Value x, Value result) {
  if (!apply_to(b)) return result;
  return b.select(is_zero_of_sign(b, x, false), b.constant(result, 1), result);
}

}  // namespace spyre::kernels::ops::quirks
