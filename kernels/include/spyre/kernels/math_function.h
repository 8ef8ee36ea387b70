// spyre/kernels/math_function.h — library functions that kernels call, with one result on every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spyre/kernels/micro_op.h"

namespace spyre::kernels {

/// SLEEF's deterministic functions, and a few of libm's that are exact or rarely used.
enum class MathFunction : std::uint16_t {
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Erf,
  Erfc,
  Lgamma,
  Pow,
  Atan2,
  Hypot,
  Fmod,  // exact: libm lane by lane
};
inline constexpr std::size_t kMathFunctionCount = static_cast<std::size_t>(MathFunction::Fmod) + 1;

std::string_view name_of(MathFunction function);

/// One lane. Functions of one argument ignore `b`.
float call(MathFunction function, float a, float b = 0);
double call(MathFunction function, double a, double b = 0);

/// `lanes` elements of F32 or F64; arrays need no alignment, `out` may be one of the inputs.
using LanesFunction = void (*)(const void* a, const void* b, void* out, std::size_t lanes);

/// What emitted code calls: the widest version this CPU runs. Every version gives the bits of call().
LanesFunction lanes_function(MathFunction function, Lane lane);
void call_lanes(MathFunction function, Lane lane, std::size_t lanes, const void* a, const void* b,
                void* out);

/// The versions behind lanes_function; the tests compare all that this CPU runs.
enum class MathWidth : std::uint8_t { Scalar, Avx2, Avx512 };
bool cpu_runs(MathWidth width);
LanesFunction lanes_function(MathFunction function, Lane lane, MathWidth width);

}  // namespace spyre::kernels
