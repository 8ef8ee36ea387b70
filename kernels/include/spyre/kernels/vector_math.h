// spyre/kernels/vector_math.h — mathematical functions for op bodies: polynomials in F32, the library in F64.
//
// Every function takes and gives one lane type, F32 or F64. Bounds are in units in the last place, tested over
// all magnitudes of F32.
#pragma once
#include "spyre/kernels/builder.h"
#include "spyre/kernels/math_function.h"

namespace spyre::kernels::vector_math {

/// A library function in either lane type.
Value library(Builder& b, MathFunction function, Value x);
Value library(Builder& b, MathFunction function, Value x, Value y);

Value exp(Builder& b, Value x);      // 1 ulp
Value expm1(Builder& b, Value x);    // 1.5 ulp
Value log(Builder& b, Value x);      // 1 ulp
Value log1p(Builder& b, Value x);    // 1.5 ulp
Value sigmoid(Builder& b, Value x);  // 2.5 ulp
Value tanh(Builder& b, Value x);     // 2.5 ulp
Value erf(Builder& b, Value x);      // 1.5 ulp

// The library's give infinity where an intermediate value overflows; these do not.
Value sinh(Builder& b, Value x);   // 3 ulp
Value cosh(Builder& b, Value x);   // 3 ulp
Value asinh(Builder& b, Value x);  // 2 ulp
Value acosh(Builder& b, Value x);  // 2 ulp

/// sigmoid(x) and 1 - sigmoid(x), both with all their digits.
struct SigmoidPair {
  Value of_x, of_minus_x;
};
SigmoidPair sigmoid_pair(Builder& b, Value x);

/// The magnitude of x with the sign bit of y.
Value copysign(Builder& b, Value x, Value y);

}  // namespace spyre::kernels::vector_math
