// spyre/base/dlfloat16_test.cpp — every code, every rounding boundary, and the described algorithm
// written another way.
#include "spyre/base/dlfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "spyre/base/float16.h"

namespace spyre {
namespace {

/// The format's definition, in exact double arithmetic.
double exact_value(std::uint16_t code) {
  const int exponent = (code >> 9) & 63, fraction = code & 511;
  const double magnitude =
      exponent == 0 && fraction == 0 ? 0.0 : std::ldexp(1.0 + fraction / 512.0, exponent - 31);
  return (code & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_ninf(std::uint16_t code) { return (code & 0x7fff) == kDlfloat16Ninf; }

/// The nearest code by search, halves away from zero: independent of the integer form.
std::uint16_t nearest_code(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  const double step = std::ldexp(1.0, 32 - 9);
  if (std::isnan(value) || magnitude >= exact_value(kDlfloat16Max) + step / 2)
    return sign | kDlfloat16Ninf;
  // As if 2^-31 had the code 0, which is zero.
  int low = 0, high = kDlfloat16Max;
  const auto scale = [](int code) {
    return code == 0 ? std::ldexp(1.0, -31) : exact_value(static_cast<std::uint16_t>(code));
  };
  if (magnitude < scale(0)) return sign;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (scale(middle) <= magnitude) low = middle;
    else high = middle - 1;
  }
  const bool up = low < kDlfloat16Max && magnitude - scale(low) >= scale(low + 1) - magnitude;
  return static_cast<std::uint16_t>(sign | (up ? low + 1 : low));
}

TEST(Dlfloat16, EveryCodeHasItsValueAndComesBack) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto code = static_cast<std::uint16_t>(i);
    const float value = dlfloat16_value(code);
    if (is_ninf(code)) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(double{value}, exact_value(code));
    }
    EXPECT_EQ(std::signbit(value), (code & 0x8000) != 0);
    EXPECT_EQ(dlfloat16_bits(value), code);
    EXPECT_EQ(dlfloat16_bits(double{value}), code);
  }
}

TEST(Dlfloat16, RoundsHalvesAwayFromZeroAtEveryBoundary) {
  for (std::uint32_t i = 1; i < kDlfloat16Max; ++i) {
    const auto code = static_cast<std::uint16_t>(i), next = static_cast<std::uint16_t>(i + 1);
    const auto half = static_cast<float>((exact_value(code) + exact_value(next)) / 2);
    EXPECT_EQ(dlfloat16_bits(half), next);
    EXPECT_EQ(dlfloat16_bits(std::nextafter(half, 0.0F)), code);
    EXPECT_EQ(dlfloat16_bits(-half), next | 0x8000);
    EXPECT_EQ(dlfloat16_bits(std::nextafter(double{half}, 0.0)), code);
  }
}

TEST(Dlfloat16, AgreesWithANearestSearchOnSamples) {
  std::mt19937 random(7);
  for (int i = 0; i < 300000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    ASSERT_EQ(dlfloat16_bits(value), nearest_code(value)) << value;
    ASSERT_EQ(dlfloat16_bits(double{value}), nearest_code(value)) << value;
  }
  std::uniform_int_distribution<std::int64_t> integers(-(1LL << 34), 1LL << 34);
  for (int i = 0; i < 100000; ++i) {
    const auto value = static_cast<double>(integers(random));
    ASSERT_EQ(dlfloat16_bits(value), nearest_code(value)) << value;
  }
}

TEST(Dlfloat16, KnownValues) {
  EXPECT_EQ(dlfloat16_bits(1.0F), 0x3e00);
  EXPECT_EQ(dlfloat16_bits(18.09375F), 0b0'100011'001000011);
  EXPECT_EQ(dlfloat16_bits(0.5903F), 0x3c5c);
  EXPECT_EQ(dlfloat16_bits(0.1669F), 0x38ac);
  EXPECT_EQ(dlfloat16_bits(0.1876F), 0x3900);
  EXPECT_EQ(dlfloat16_value(0x3c5c), 0.58984375F);
  EXPECT_EQ(dlfloat16_bits(65504.0F), 0x5e00);  // a tie: 65536
  EXPECT_EQ(dlfloat16_value(dlfloat16_bits(65472.0F)), 65472.0F);
  EXPECT_EQ(dlfloat16_value(kDlfloat16Max), 8573157376.0F);
  EXPECT_EQ(dlfloat16_bits(std::numeric_limits<float>::infinity()), 0x7fff);
  EXPECT_EQ(dlfloat16_bits(-std::numeric_limits<float>::infinity()), 0xffff);
  EXPECT_EQ(dlfloat16_bits(std::numeric_limits<float>::quiet_NaN()), 0x7fff);
  EXPECT_EQ(dlfloat16_bits(-0.0F), 0x8000);
}

TEST(Dlfloat16, EndsOfTheRange) {
  EXPECT_EQ(dlfloat16_bits(0x1p-31F), 0x0000);  // has no code
  EXPECT_EQ(dlfloat16_bits(0x1p-31F * (1.0F + 0x1p-10F)), 0x0001);
  EXPECT_EQ(dlfloat16_bits(std::nextafter(0x1p-31F * (1.0F + 0x1p-10F), 0.0F)), 0x0000);
  EXPECT_EQ(dlfloat16_bits(-0x1p-40F), 0x8000);
  EXPECT_EQ(dlfloat16_bits(8577351168.0F), kDlfloat16Max);
  EXPECT_EQ(dlfloat16_bits(std::nextafter(8577351168.0F, 1e10F)), kDlfloat16Ninf);
}

TEST(Dlfloat16, HalfOfTheFiniteFloat16ValuesAreExact) {
  int exact = 0, finite = 0;
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const float value = float16_value(static_cast<std::uint16_t>(i));
    if (!std::isfinite(value)) continue;
    ++finite;
    if (dlfloat16_value(dlfloat16_bits(value)) == value) ++exact;
  }
  EXPECT_EQ(finite, 63488);
  EXPECT_EQ(exact, 32768);
}

}  // namespace
}  // namespace spyre
