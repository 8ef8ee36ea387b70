// spyre/kernels/interpreter.cpp — one loop per micro-op over the lanes of a block.
#include "spyre/kernels/interpreter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "spyre/base/error.h"
#include "spyre/base/float16.h"
#include "spyre/base/text.h"
#include "spyre/kernels/math_function.h"

namespace spyre::kernels {
namespace {

/// The cells of one instruction.
struct Cells {
  const std::uint64_t *a, *b, *c;
  std::uint64_t* out;
  std::size_t lanes;
};

template <class T> T get(std::uint64_t cell) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(cell));
  else return std::bit_cast<T>(cell);
}

template <class T> std::uint64_t put(T value) {
  if constexpr (std::is_same_v<T, bool>) return value ? 1 : 0;
  else if constexpr (sizeof(T) == 4) return std::bit_cast<std::uint32_t>(value);
  else return std::bit_cast<std::uint64_t>(value);
}

template <class T, class F> void map1(const Cells& x, F f) {
  for (std::size_t i = 0; i < x.lanes; ++i) x.out[i] = put(f(get<T>(x.a[i])));
}
template <class T, class F> void map2(const Cells& x, F f) {
  for (std::size_t i = 0; i < x.lanes; ++i) x.out[i] = put(f(get<T>(x.a[i]), get<T>(x.b[i])));
}
template <class T, class F> void map3(const Cells& x, F f) {
  for (std::size_t i = 0; i < x.lanes; ++i)
    x.out[i] = put(f(get<T>(x.a[i]), get<T>(x.b[i]), get<T>(x.c[i])));
}

template <class T> T min_nan(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class T> T max_nan(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

/// 2^(n / 2) and the rest: the first product is exact, the second rounds.
float scaled(float a, float n) {
  if (std::isnan(a) || std::isnan(n)) return a + n;
  const int whole = static_cast<int>(n), half = whole >> 1;
  return std::ldexp(std::ldexp(a, half), whole - half);
}

template <class T> void run_float(Micro op, const Cells& x) {
  switch (op) {
    case Micro::Add: return map2<T>(x, [](T a, T b) { return a + b; });
    case Micro::Sub: return map2<T>(x, [](T a, T b) { return a - b; });
    case Micro::Mul: return map2<T>(x, [](T a, T b) { return a * b; });
    case Micro::Div: return map2<T>(x, [](T a, T b) { return a / b; });
    case Micro::Fma: return map3<T>(x, [](T a, T b, T c) { return std::fma(a, b, c); });
    case Micro::Scale:
      return map2<T>(
          x, [](T a, T n) { return T{scaled(static_cast<float>(a), static_cast<float>(n))}; });
    case Micro::Sqrt: return map1<T>(x, [](T a) { return std::sqrt(a); });
    case Micro::Neg: return map1<T>(x, [](T a) { return -a; });
    case Micro::Abs: return map1<T>(x, [](T a) { return std::fabs(a); });
    case Micro::MinNan: return map2<T>(x, [](T a, T b) { return min_nan(a, b); });
    case Micro::MaxNan: return map2<T>(x, [](T a, T b) { return max_nan(a, b); });
    case Micro::RoundEven: return map1<T>(x, [](T a) { return std::nearbyint(a); });
    case Micro::Floor: return map1<T>(x, [](T a) { return std::floor(a); });
    case Micro::Ceil: return map1<T>(x, [](T a) { return std::ceil(a); });
    case Micro::Trunc: return map1<T>(x, [](T a) { return std::trunc(a); });
    default: throw InternalError(str("micro-op ", name_of(op), " has no float form"));
  }
}

/// Shifts by a count outside the width leave nothing, or the sign.
template <class T> T shift_left(T a, T count) {
  using U = std::make_unsigned_t<T>;
  constexpr T kWidth = static_cast<T>(8 * sizeof(T));
  return count < 0 || count >= kWidth ? T{0} : static_cast<T>(static_cast<U>(a) << count);
}
template <class T> T shift_right_logical(T a, T count) {
  using U = std::make_unsigned_t<T>;
  constexpr T kWidth = static_cast<T>(8 * sizeof(T));
  return count < 0 || count >= kWidth ? T{0} : static_cast<T>(static_cast<U>(a) >> count);
}
template <class T> T shift_right_arithmetic(T a, T count) {
  constexpr T kWidth = static_cast<T>(8 * sizeof(T));
  return a >> (count < 0 || count >= kWidth ? kWidth - 1 : count);
}

/// C's division, except that MIN / -1 wraps; by zero is the one fault a kernel can raise.
template <class T> T divide(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if (b == 0) throw Error("ZeroDivisionError: integer division by zero");
  return b == -1 ? static_cast<T>(U{0} - static_cast<U>(a)) : static_cast<T>(a / b);
}
template <class T> T remainder_of(T a, T b) {
  if (b == 0) throw Error("ZeroDivisionError: integer division by zero");
  return b == -1 ? T{0} : static_cast<T>(a % b);
}

template <class T> void run_bits(Micro op, const Cells& x) {
  switch (op) {
    case Micro::And: return map2<T>(x, [](T a, T b) { return a & b; });
    case Micro::Or: return map2<T>(x, [](T a, T b) { return a | b; });
    case Micro::Xor: return map2<T>(x, [](T a, T b) { return a ^ b; });
    case Micro::Not: return map1<T>(x, [](T a) { return ~a; });
    case Micro::Shl: return map2<T>(x, [](T a, T b) { return shift_left(a, b); });
    case Micro::ShrArith: return map2<T>(x, [](T a, T b) { return shift_right_arithmetic(a, b); });
    case Micro::ShrLogical: return map2<T>(x, [](T a, T b) { return shift_right_logical(a, b); });
    default: throw InternalError(str("micro-op ", name_of(op), " has no integer form"));
  }
}

template <class T> void run_integer(Micro op, const Cells& x) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Micro::Add: return map2<U>(x, [](U a, U b) { return a + b; });
    case Micro::Sub: return map2<U>(x, [](U a, U b) { return a - b; });
    case Micro::Mul: return map2<U>(x, [](U a, U b) { return a * b; });
    case Micro::Neg: return map1<U>(x, [](U a) { return U{0} - a; });
    case Micro::Abs:
      return map1<T>(x, [](T a) { return a < 0 ? U{0} - static_cast<U>(a) : static_cast<U>(a); });
    case Micro::MinNan: return map2<T>(x, [](T a, T b) { return a < b ? a : b; });
    case Micro::MaxNan: return map2<T>(x, [](T a, T b) { return a < b ? b : a; });
    case Micro::IntDivTrunc: return map2<T>(x, [](T a, T b) { return divide(a, b); });
    case Micro::IntRem: return map2<T>(x, [](T a, T b) { return remainder_of(a, b); });
    case Micro::MulHiU32:
      return map2<std::uint32_t>(x, [](std::uint32_t a, std::uint32_t b) {
        return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32);
      });
    default: return run_bits<T>(op, x);
  }
}

void run_mask(Micro op, const Cells& x) {
  for (std::size_t i = 0; i < x.lanes; ++i) {
    switch (op) {
      case Micro::And: x.out[i] = x.a[i] & x.b[i]; break;
      case Micro::Or: x.out[i] = x.a[i] | x.b[i]; break;
      case Micro::Xor: x.out[i] = x.a[i] ^ x.b[i]; break;
      case Micro::Not: x.out[i] = x.a[i] ^ 1U; break;
      default: throw InternalError(str("micro-op ", name_of(op), " has no mask form"));
    }
  }
}

template <class T> void run_comparison(Micro op, const Cells& x) {
  switch (op) {
    case Micro::Eq: return map2<T>(x, [](T a, T b) { return a == b; });
    case Micro::Ne: return map2<T>(x, [](T a, T b) { return a != b; });
    case Micro::Lt: return map2<T>(x, [](T a, T b) { return a < b; });
    default: return map2<T>(x, [](T a, T b) { return a <= b; });
  }
}

/// Calls f with a value of the lane's C++ type.
template <class F> void with_lane_type(Lane lane, F f) {
  switch (lane) {
    case Lane::F32: return f(float{});
    case Lane::F64: return f(double{});
    case Lane::I32: return f(std::int32_t{});
    case Lane::I64: return f(std::int64_t{});
    case Lane::Mask: throw InternalError("a mask is not a number");
  }
}

template <class To, class From> To convert_one(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kLimit = sizeof(To) == 4 ? From{0x1p31} : From{0x1p63};
    return value >= -kLimit && value < kLimit ? static_cast<To>(value)
                                              : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(value);
  }
}

template <class To> void run_conversion(Lane from, const Cells& x) {
  with_lane_type(from, [&](auto sample) {
    using From = decltype(sample);
    map1<From>(x, [](From value) { return convert_one<To>(value); });
  });
}

std::uint32_t round_bf16_in_integers(std::uint32_t bits) {
  return (bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U;
}

void run_rounding(Micro op, const Cells& x) {
  using I = std::int32_t;
  switch (op) {
    case Micro::RoundF16:
      return map1<float>(x, [](float a) { return float16_value(float16_bits(a)); });
    case Micro::RoundBF16:
      return map1<float>(x, [](float a) { return bfloat16_value(bfloat16_bits(a)); });
    case Micro::RoundBF16ShortNan: return map1<std::uint32_t>(x, round_bf16_in_integers);
    case Micro::WrapI8: return map1<I>(x, [](I a) { return I{static_cast<std::int8_t>(a)}; });
    case Micro::WrapU8: return map1<I>(x, [](I a) { return I{static_cast<std::uint8_t>(a)}; });
    default: return map1<I>(x, [](I a) { return I{static_cast<std::int16_t>(a)}; });
  }
}

void run_math(const MicroInstruction& in, const Cells& x) {
  const auto function = static_cast<MathFunction>(in.imm);
  if (in.lane == Lane::F32) {
    for (std::size_t i = 0; i < x.lanes; ++i)
      x.out[i] = put(call(function, get<float>(x.a[i]), get<float>(x.b[i])));
  } else {
    for (std::size_t i = 0; i < x.lanes; ++i)
      x.out[i] = put(call(function, get<double>(x.a[i]), get<double>(x.b[i])));
  }
}

void run_arithmetic(const MicroInstruction& in, const Cells& x) {
  switch (in.lane) {
    case Lane::F32: return run_float<float>(in.op, x);
    case Lane::F64: return run_float<double>(in.op, x);
    case Lane::I32: return run_integer<std::int32_t>(in.op, x);
    case Lane::I64: return run_integer<std::int64_t>(in.op, x);
    case Lane::Mask: return run_mask(in.op, x);
  }
}

/// `source` is the lane type of operand a.
void run(const MicroInstruction& in, Lane source, const Cells& x) {
  switch (in.op) {
    case Micro::Eq:
    case Micro::Ne:
    case Micro::Lt:
    case Micro::Le:
      return with_lane_type(source,
                            [&](auto sample) { run_comparison<decltype(sample)>(in.op, x); });
    case Micro::Select:
      for (std::size_t i = 0; i < x.lanes; ++i) x.out[i] = x.a[i] ? x.b[i] : x.c[i];
      return;
    case Micro::MaskToInt:
    case Micro::BitsToFloat:
    case Micro::BitsToInt: std::memcpy(x.out, x.a, x.lanes * sizeof(std::uint64_t)); return;
    case Micro::ToF32: return run_conversion<float>(source, x);
    case Micro::ToF64: return run_conversion<double>(source, x);
    case Micro::ToI32: return run_conversion<std::int32_t>(source, x);
    case Micro::ToI64: return run_conversion<std::int64_t>(source, x);
    case Micro::RoundF16:
    case Micro::RoundBF16:
    case Micro::RoundBF16ShortNan:
    case Micro::WrapI8:
    case Micro::WrapU8:
    case Micro::WrapI16: return run_rounding(in.op, x);
    case Micro::Math1:
    case Micro::Math2: return run_math(in, x);
    default: return run_arithmetic(in, x);
  }
}

}  // namespace

void evaluate(const MicroProgram& program, std::span<const LaneInput> inputs, std::size_t lanes,
              std::uint64_t* registers) {
  ensure(lanes <= kBlockLanes, "a block of lanes fits its registers");
  for (std::size_t i = 0; i < program.size(); ++i) {
    const MicroInstruction& in = program[i];
    std::uint64_t* out = registers + i * kBlockLanes;
    if (in.op == Micro::Const) {
      std::fill_n(out, lanes, in.imm);
    } else if (in.op == Micro::Input) {
      const LaneInput& input = inputs[in.imm];
      if (input.uniform) std::fill_n(out, lanes, *input.cells);
      else std::copy_n(input.cells, lanes, out);
    } else {
      run(in, program[in.a].lane,
          {registers + in.a * kBlockLanes, registers + in.b * kBlockLanes,
           registers + in.c * kBlockLanes, out, lanes});
    }
  }
}

std::uint64_t evaluate_one(const MicroInstruction& instruction, Lane operand_lane, std::uint64_t a,
                           std::uint64_t b, std::uint64_t c) {
  std::uint64_t out = 0;
  run(instruction, operand_lane, {&a, &b, &c, &out, 1});
  return out;
}

}  // namespace spyre::kernels
