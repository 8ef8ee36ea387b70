// spyre/base/float8_test.cpp — every code against the formats' definitions, and rounding between
// neighbours.
#include "spyre/base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace spyre {
namespace {

double exact_value(const Float8Kind& kind, int code) {
  const int fraction_range = 1 << kind.fraction_bits;
  const int exponent = code / fraction_range, fraction = code % fraction_range;
  const double scaled = static_cast<double>(fraction) / fraction_range;
  return exponent == 0 ? std::ldexp(scaled, 1 - kind.bias)
                       : std::ldexp(1.0 + scaled, exponent - kind.bias);
}

class Float8 : public testing::TestWithParam<Float8Kind> {};

TEST_P(Float8, EveryCodeHasItsValueAndComesBack) {
  for (int code = 0; code <= GetParam().largest; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    const double value = exact_value(GetParam(), code);
    EXPECT_EQ(double{float8_value(GetParam(), bits)}, value);
    EXPECT_EQ(float8_bits(GetParam(), static_cast<float>(value)), bits);
    if (code == 0) continue;
    EXPECT_EQ(double{float8_value(GetParam(), bits | 0x80)}, -value);
    EXPECT_EQ(float8_bits(GetParam(), static_cast<float>(-value)), bits | 0x80);
  }
}

TEST_P(Float8, RoundsToNearestEven) {
  for (int code = 0; code < GetParam().largest; ++code) {
    const auto half =
        static_cast<float>((exact_value(GetParam(), code) + exact_value(GetParam(), code + 1)) / 2);
    EXPECT_EQ(float8_bits(GetParam(), half), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(float8_bits(GetParam(), std::nextafter(half, 0.0F)), code);
    EXPECT_EQ(float8_bits(GetParam(), std::nextafter(half, 1e6F)), code + 1);
  }
}

TEST_P(Float8, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(float8_value(GetParam(), float8_bits(GetParam(), nan))));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Float8, testing::Values(kFloat8E4m3fn, kFloat8E5m2fnuz));

TEST(Float8Kinds, Limits) {
  EXPECT_EQ(float8_value(kFloat8E4m3fn, 0x7e), 448.0F);
  EXPECT_EQ(float8_value(kFloat8E5m2fnuz, 0x7f), 57344.0F);
  for (const float large : {464.0F, 500.0F, 1e30F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(float8_bits(kFloat8E4m3fn, large), 0x7e);
    EXPECT_EQ(float8_bits(kFloat8E4m3fn, -large), 0xfe);
  }
  EXPECT_EQ(float8_bits(kFloat8E5m2fnuz, 61440.0F), 0x80);  // a tie with the NaN's code
  EXPECT_EQ(float8_bits(kFloat8E5m2fnuz, std::numeric_limits<float>::infinity()), 0x80);
  EXPECT_EQ(float8_bits(kFloat8E4m3fn, -0.0F), 0x80);
  EXPECT_EQ(float8_bits(kFloat8E5m2fnuz, -0.0F), 0x00);
  EXPECT_EQ(float8_bits(kFloat8E5m2fnuz, -1e-30F), 0x00);
  EXPECT_EQ(float8_bits(kFloat8E5m2fnuz, -1e6F), 0x80);
}

}  // namespace
}  // namespace spyre
