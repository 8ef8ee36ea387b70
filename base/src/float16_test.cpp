// spyre/base/float16_test.cpp — every 16-bit pattern survives, and rounding is to nearest even.
#include "spyre/base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace spyre {
namespace {

TEST(Float16, EveryPatternSurvivesARoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = float16_value(bits);
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(float16_value(float16_bits(value))));
    else EXPECT_EQ(float16_bits(value), bits);
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(float16_bits(1.0F + 0x1p-11F), float16_bits(1.0F));            // tie, to even
  EXPECT_EQ(float16_bits(1.0F + 0x3p-11F), float16_bits(1.0F + 0x1p-9F));  // tie, to even
  EXPECT_EQ(float16_bits(1.0F + 0x1.8p-11F), float16_bits(1.0F + 0x1p-10F));
  EXPECT_EQ(float16_bits(65519.0F), 0x7bff);
  EXPECT_EQ(float16_bits(65520.0F), 0x7c00);
  EXPECT_EQ(float16_bits(0x1p-25F), 0x0000);  // tie, to zero
  EXPECT_EQ(float16_bits(0x1.000002p-25F), 0x0001);
  EXPECT_EQ(float16_bits(-0x1p-24F), 0x8001);
  EXPECT_EQ(float16_bits(0x1.ffep-15F), 0x0400);  // rounds up to normal
}

TEST(Float16, IsNeverFurtherThanEitherNeighbour) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const std::uint16_t bits = float16_bits(x);
    if (!std::isfinite(x) || std::fabs(x) >= 65504.0F) continue;
    const double error = std::fabs(double{float16_value(bits)} - x);
    EXPECT_LE(error, std::fabs(double{float16_value(static_cast<std::uint16_t>(bits + 1))} - x));
    if (bits == 0 || bits == 0x8000) continue;

    EXPECT_LE(error, std::fabs(double{float16_value(static_cast<std::uint16_t>(bits - 1))} - x));
  }
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(bfloat16_bits(1.0F + 0x1p-8F), bfloat16_bits(1.0F));
  EXPECT_EQ(bfloat16_bits(1.0F + 0x3p-8F), bfloat16_bits(1.0F + 0x1p-6F));
  EXPECT_EQ(bfloat16_bits(3.4028235e38F), 0x7f80);
  EXPECT_TRUE(std::isnan(bfloat16_value(bfloat16_bits(std::bit_cast<float>(0x7f800001U)))));
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const float value = bfloat16_value(static_cast<std::uint16_t>(i));
    if (std::isnan(value)) continue;
    EXPECT_EQ(bfloat16_bits(value), i);
  }
}

}  // namespace
}  // namespace spyre
