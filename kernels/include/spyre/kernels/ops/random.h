// spyre/kernels/ops/random.h — counter-based random numbers: a function of (element index, seed, offset).
//
// Philox4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the key is
// the seed, the counter is (block, offset). 64-bit numbers: block = index / 2, its low or high half by index
// mod 2; two numbers at a time: block = index. The engine reserves the offset when it records, so order, fusion
// and dead code never change the numbers. All inputs are int64; the result type is the caller's.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "spyre/kernels/ops/arithmetic.h"

namespace spyre::kernels::ops {

/// Four random 32-bit words per lane, and two ways to pair them into 64.
struct PhiloxWords {
  std::array<Value, 4> words;  // I32

  static PhiloxWords generate(Builder& b, Value block, Value seed, Value offset);
  /// Words `low` and `low + 1` as one I64.
  Value wide(Builder& b, std::size_t low) const;
};

/// The 64 random bits of one element, I64.
Value random_bits(Builder& b, Values x);

/// The same by other means, for `ref`.
std::array<std::uint64_t, 2> reference_philox(std::uint64_t block, std::uint64_t seed,
                                              std::uint64_t offset);
inline std::uint64_t reference_bits(Doubles x) {
  const auto index = static_cast<std::uint64_t>(x[0]);
  return reference_philox(index / 2, static_cast<std::uint64_t>(x[1]),
                          static_cast<std::uint64_t>(x[2]))[index % 2];
}
inline std::array<std::uint64_t, 2> reference_pair(Doubles x) {
  return reference_philox(static_cast<std::uint64_t>(x[0]), static_cast<std::uint64_t>(x[1]),
                          static_cast<std::uint64_t>(x[2]));
}

inline constexpr DTypeSet kInt64Only = DTypeSet::range(DType::I64, DType::I64);

struct RandomBits {
  static constexpr OpInfo info{.name = "random_bits",
                               .aten = "",
                               .arity = 3,
                               .computes = kInt64Only,
                               .cost = Cost::Transcendental,
                               .random = true,
                               .doc = "64 random bits, from (index, seed, offset)"};
  static double ref(Doubles x) {
    return static_cast<double>(static_cast<std::int64_t>(reference_bits(x)));
  }
  static Value body(Builder& b, Values x) { return random_bits(b, x); }
};
static_assert(Operator<RandomBits>);

/// Uniform on [0, 1) with as many bits as the result type's significand holds, so that 1 is never rounded to.
template <int Bits> struct RandomUnit {
  static constexpr std::string_view kName = Bits == 53   ? "random_unit_float64"
                                            : Bits == 24 ? "random_unit_float32"
                                            : Bits == 11 ? "random_unit_float16"
                                                         : "random_unit_bfloat16";
  static constexpr OpInfo info{
      .name = kName,
      .aten = "",
      .arity = 3,
      .computes = kInt64Only,
      .cost = Cost::Transcendental,
      .random = true,
      .doc = "uniform on [0, 1) for results of that type, from (index, seed, offset)"};
  static double ref(Doubles x) {
    return std::ldexp(static_cast<double>(reference_bits(x) >> (64 - Bits)), -Bits);
  }
  static Value body(Builder& b, Values x) {
    const Value bits = b.shr_logical(random_bits(b, x), b.constant(Lane::I64, 64 - Bits));
    const Value whole = b.convert(bits, Bits > 24 ? Lane::F64 : Lane::F32);
    return b.mul(whole, b.constant(whole, std::ldexp(1.0, -Bits)));
  }
};
static_assert(Operator<RandomUnit<24>>);

/// The middle of one of 2^Bits equal parts of (0, 1): never 0 or 1, so its logarithm is finite.
template <int Bits> Value open_unit(Builder& b, Value bits64) {
  const Value part = b.shr_logical(bits64, b.constant(Lane::I64, 64 - Bits));
  const Value odd = b.bit_or(b.shl(part, b.constant(Lane::I64, 1)), b.constant(Lane::I64, 1));
  const Value whole = b.convert(odd, Bits > 24 ? Lane::F64 : Lane::F32);
  return b.mul(whole, b.constant(whole, std::ldexp(1.0, -Bits - 1)));
}
inline double reference_open_unit(std::uint64_t bits, int count) {
  return std::ldexp(static_cast<double>(bits >> (64 - count)) + 0.5, -count);
}

/// Box-Muller: radius from the first number, angle from the second.
template <int Bits> struct RandomNormal {
  static constexpr OpInfo info{
      .name = Bits > 24 ? "random_normal_float64" : "random_normal_float32",
      .aten = "",
      .arity = 3,
      .computes = kInt64Only,
      .cost = Cost::Transcendental,
      .max_ulp = 16,
      .cancels = true,
      .random = true,
      .doc = "standard normal, from (index, seed, offset)"};
  static double ref(Doubles x) {
    const auto [first, second] = reference_pair(x);
    const double radius = std::sqrt(-2 * std::log(reference_open_unit(first, Bits)));
    return radius * std::cos(2 * std::numbers::pi * reference_open_unit(second, Bits));
  }
  static Value body(Builder& b, Values x) {
    const PhiloxWords random = PhiloxWords::generate(b, x[0], x[1], x[2]);
    const Value first = open_unit<Bits>(b, random.wide(b, 0)),
                second = open_unit<Bits>(b, random.wide(b, 2));
    const Value radius = b.sqrt(b.mul(b.constant(first, -2), vector_math::log(b, first)));
    const Value angle = b.mul(second, b.constant(second, 2 * std::numbers::pi));
    return b.mul(radius, vector_math::library(b, MathFunction::Cos, angle));
  }
};
static_assert(Operator<RandomNormal<23>>);

template <int Bits> struct RandomExponential {
  static constexpr OpInfo info{
      .name = Bits > 24 ? "random_exponential_float64" : "random_exponential_float32",
      .aten = "",
      .arity = 3,
      .computes = kInt64Only,
      .cost = Cost::Transcendental,
      .max_ulp = 2,
      .random = true,
      .doc = "exponential with rate 1, from (index, seed, offset)"};
  static double ref(Doubles x) { return -std::log(reference_open_unit(reference_bits(x), Bits)); }
  static Value body(Builder& b, Values x) {
    return b.neg(vector_math::log(b, open_unit<Bits>(b, random_bits(b, x))));
  }
};
static_assert(Operator<RandomExponential<23>>);

struct RandomInteger {
  static constexpr OpInfo info{
      .name = "random_integer",
      .aten = "",
      .arity = 5,
      .computes = kInt64Only,
      .cost = Cost::Transcendental,
      .random = true,
      .doc =
          "low + floor(bits * range / 2^64), range 0 meaning 2^64, from (index, seed, "
          "offset, low, range)"};
  static double ref(Doubles x) {
    const std::uint64_t bits = reference_bits(x), range = static_cast<std::uint64_t>(x[4]);
    const std::uint64_t low = (bits & 0xffffffffU) * range;  // range < 2^32 in tests
    const std::uint64_t picked = ((bits >> 32) * range + (low >> 32)) >> 32;
    return x[3] + (range == 0 ? static_cast<double>(static_cast<std::int64_t>(bits))
                              : static_cast<double>(picked));
  }
  static Value body(Builder& b, Values x);
};
static_assert(Operator<RandomInteger>);

using Random = OpList<RandomBits, RandomUnit<8>, RandomUnit<11>, RandomUnit<24>, RandomUnit<53>,
                      RandomNormal<23>, RandomNormal<52>, RandomExponential<23>,
                      RandomExponential<52>, RandomInteger>;

}  // namespace spyre::kernels::ops
