// spyre/device_sim/format_conversion_test.cpp — every listed pair on values chosen to tell the rules apart.
#include "spyre/device_sim/format_conversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "spyre/base/dlfloat16.h"
#include "spyre/base/error.h"
#include "spyre/base/float16.h"

namespace spyre::device_sim {
namespace {

using enum DataFormat;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class To, class From>
std::vector<To> convert(DataFormat from, DataFormat to, const std::vector<From>& source) {
  std::vector<To> target(source.size());
  conversion(from, to)(reinterpret_cast<const std::byte*>(source.data()),
                       reinterpret_cast<std::byte*>(target.data()),
                       static_cast<std::int64_t>(source.size()));
  return target;
}

TEST(FormatConversion, TheListedPairsAndNoOthers) {
  std::set<std::pair<DataFormat, DataFormat>> pairs;
  for (const FormatPair& pair : conversions()) {
    EXPECT_NE(pair.from, pair.to);
    EXPECT_TRUE(pairs.emplace(pair.from, pair.to).second);
    EXPECT_TRUE(is_convertible(pair.from, pair.to));
  }
  EXPECT_EQ(pairs.size(), 31U);
  for (unsigned i = 0; i < kDataFormatCount; ++i) {
    const auto format = static_cast<DataFormat>(i);
    EXPECT_EQ(is_convertible(format, format), elements_per_stick(format) != 0) << format;
  }
  for (const auto& [from, to] : {std::pair{SenInt8, IeeeFp16},
                                 {IeeeFp32, IeeeInt32},
                                 {IeeeFp16, IeeeInt64},
                                 {Invalid, Invalid},
                                 {Bool, IeeeFp32}}) {
    EXPECT_FALSE(is_convertible(from, to));
    EXPECT_THROW(conversion(from, to), Unsupported);
  }
}

TEST(FormatConversion, EqualFormatsKeepTheirBytes) {
  for (unsigned i = 0; i < kDataFormatCount; ++i) {
    const auto format = static_cast<DataFormat>(i);
    if (elements_per_stick(format) == 0) continue;
    std::vector<std::uint8_t> stick(kStick.count), copy(kStick.count + 1, 0xaa);
    for (std::size_t b = 0; b < stick.size(); ++b) stick[b] = static_cast<std::uint8_t>(b * 37);
    conversion(format, format)(reinterpret_cast<const std::byte*>(stick.data()),
                               reinterpret_cast<std::byte*>(copy.data()),
                               elements_per_stick(format));
    EXPECT_EQ(std::memcmp(stick.data(), copy.data(), stick.size()), 0) << format;
    EXPECT_EQ(copy.back(), 0xaa);
  }
}

TEST(FormatConversion, ToAndFromDlfloat16) {
  const std::vector<float> values{1.0F, -0.5903F, 65504.0F, kInfinity, kNan, 1e-20F};
  std::vector<std::uint16_t> codes;
  for (const float v : values) codes.push_back(dlfloat16_bits(v));
  EXPECT_EQ(convert<std::uint16_t>(IeeeFp32, Sen169Fp16, values), codes);
  const auto back = convert<float>(Sen169Fp16, IeeeFp32, codes);
  EXPECT_EQ(back[1], -0.58984375F * 1.0F);
  EXPECT_EQ(back[2], 65536.0F);
  EXPECT_TRUE(std::isnan(back[3]));
}

TEST(FormatConversion, Float16StaysFiniteOnARoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = float16_value(bits);
    const auto code = convert<std::uint16_t>(IeeeFp16, Sen169Fp16, std::vector{bits});
    const auto back = float16_value(convert<std::uint16_t>(Sen169Fp16, IeeeFp16, code)[0]);
    EXPECT_EQ(std::isfinite(value), std::isfinite(back)) << value;
    if (!std::isfinite(value) || std::fabs(value) < 0x1p-14F) continue;
    EXPECT_LE(std::fabs(value - back), std::fabs(value) * 0x1p-10F) << value;  // half a step
  }
  EXPECT_EQ(dlfloat16_value(convert<std::uint16_t>(IeeeFp16, Sen169Fp16,
                                                   std::vector{float16_bits(-65504.0F)})[0]),
            -65472.0F);
}

TEST(FormatConversion, Bfloat16LosesRange) {
  const std::vector<std::uint16_t> values{bfloat16_bits(1.5F), bfloat16_bits(1e30F),
                                          bfloat16_bits(1e-30F)};
  EXPECT_EQ(convert<std::uint16_t>(Bfloat16, Sen169Fp16, values),
            (std::vector<std::uint16_t>{dlfloat16_bits(1.5F), kDlfloat16Ninf, 0}));
  EXPECT_EQ(convert<float>(Bfloat16, IeeeFp32, values)[0], 1.5F);
  EXPECT_EQ(
      convert<std::uint16_t>(Sen169Fp16, Bfloat16, std::vector{dlfloat16_bits(1.0F + 0x1p-9F)}),
      std::vector{bfloat16_bits(1.0F)});
  EXPECT_EQ(convert<std::uint16_t>(IeeeFp16, Bfloat16, std::vector{float16_bits(1.0F + 0x3p-9F)}),
            std::vector{bfloat16_bits(1.0F + 0x1p-7F)});
}

TEST(FormatConversion, FloatsToIntegersGoTowardZeroAndStopAtTheEnds) {
  const std::vector<float> values{2.9F, -2.9F, 1e9F, -kInfinity, kNan, -0.5F};
  EXPECT_EQ(convert<std::int8_t>(IeeeFp32, SenInt8, values),
            (std::vector<std::int8_t>{2, -2, 127, -128, 0, 0}));
  std::vector<std::uint16_t> codes;
  for (const float v : {2.9F, -2.9F, 1e6F, -kInfinity}) codes.push_back(dlfloat16_bits(v));
  EXPECT_EQ(convert<std::int16_t>(Sen169Fp16, SenInt16, codes),
            (std::vector<std::int16_t>{2, -2, 32767, 0}));
  EXPECT_EQ(convert<std::int64_t>(Sen169Fp16, IeeeInt64, std::vector{kDlfloat16Max}),
            std::vector<std::int64_t>{8573157376});
}

TEST(FormatConversion, IntegersKeepTheirLowBits) {
  const std::vector<std::int64_t> values{-1, (1LL << 32) + 5, 1LL << 31};
  EXPECT_EQ(convert<std::int32_t>(IeeeInt64, IeeeInt32, values),
            (std::vector<std::int32_t>{-1, 5, std::numeric_limits<std::int32_t>::min()}));
  EXPECT_EQ(convert<std::uint32_t>(IeeeInt64, SenUint32, values),
            (std::vector<std::uint32_t>{0xffffffffU, 5, 1U << 31}));
  EXPECT_EQ(convert<std::int64_t>(IeeeInt32, IeeeInt64, std::vector<std::int32_t>{-7})[0], -7);
  EXPECT_EQ(convert<std::int64_t>(SenUint32, IeeeInt64, std::vector<std::uint32_t>{~0U})[0],
            0xffffffffLL);
}

TEST(FormatConversion, IntegersToFloatsRoundOnce) {
  // 2^30 + 2^20 - 1 lies below a tie; rounded to float32 first, it would be the tie.
  const std::vector<std::int64_t> values{1024, -3, (1LL << 30) + (1LL << 20) - 1, 1LL << 62};
  EXPECT_EQ(convert<std::uint16_t>(IeeeInt64, Sen169Fp16, values),
            (std::vector<std::uint16_t>{dlfloat16_bits(1024.0F), dlfloat16_bits(-3.0F),
                                        dlfloat16_bits(0x1p30F), kDlfloat16Ninf}));
  EXPECT_EQ(convert<std::uint16_t>(SenInt16, Sen169Fp16, std::vector<std::int16_t>{-1024, 2047}),
            (std::vector<std::uint16_t>{dlfloat16_bits(-1024.0F), dlfloat16_bits(2048.0F)}));
  EXPECT_EQ(convert<float>(SenInt8, IeeeFp32, std::vector<std::int8_t>{-128})[0], -128.0F);
}

TEST(FormatConversion, BoolIsZeroOrOne) {
  EXPECT_EQ(convert<std::uint16_t>(Bool, Sen169Fp16, std::vector<std::uint8_t>{0, 1, 7}),
            (std::vector<std::uint16_t>{0, dlfloat16_bits(1.0F), dlfloat16_bits(1.0F)}));
  EXPECT_EQ(convert<std::uint8_t>(Sen169Fp16, Bool,
                                  std::vector<std::uint16_t>{0, 0x8000, 1, kDlfloat16Ninf}),
            (std::vector<std::uint8_t>{0, 0, 1, 1}));
}

TEST(FormatConversion, SmallFloats) {
  EXPECT_EQ(convert<std::uint8_t>(IeeeFp32, Sen143Fp8, std::vector{448.0F, -1.0F, kNan}),
            (std::vector<std::uint8_t>{0x7e, 0xb8, 0x7f}));
  EXPECT_EQ(convert<float>(Sen152Fp8, IeeeFp32, std::vector<std::uint8_t>{0x7f, 0x00})[0],
            57344.0F);
}

TEST(FormatConversion, PackedIntegersFillBytesFromTheLowBits) {
  const std::vector<float> values{-8.0F, 7.9F, 3.0F, 100.0F, -1.0F};
  std::vector<std::uint8_t> packed(3);
  conversion(IeeeFp32, SenInt4)(reinterpret_cast<const std::byte*>(values.data()),
                                reinterpret_cast<std::byte*>(packed.data()), 5);
  EXPECT_EQ(packed, (std::vector<std::uint8_t>{0x78, 0x73, 0x0f}));
  std::vector<float> back(5);
  conversion(SenInt4, IeeeFp32)(reinterpret_cast<const std::byte*>(packed.data()),
                                reinterpret_cast<std::byte*>(back.data()), 5);
  EXPECT_EQ(back, (std::vector{-8.0F, 7.0F, 3.0F, 7.0F, -1.0F}));
  const std::vector<float> bits{3.0F, 1.0F, 0.0F, 2.0F, -5.0F};
  conversion(IeeeFp32, SenUint2)(reinterpret_cast<const std::byte*>(bits.data()),
                                 reinterpret_cast<std::byte*>(packed.data()), 5);
  EXPECT_EQ(packed[0], 0b10'00'01'11);
  EXPECT_EQ(packed[1], 0);
}

TEST(FormatConversion, Constants) {
  EXPECT_EQ(encode_constant(1.0F, IeeeFp32), 0x3f800000U);
  EXPECT_EQ(encode_constant(1.0F, Sen169Fp16), 0x3e00U);
  EXPECT_EQ(encode_constant(-1.0F, Sen143Fp8), 0xb8U);
  EXPECT_EQ(encode_constant(-1.0F, SenInt4), 0x0fU);
  EXPECT_THROW(encode_constant(1.0F, IeeeInt64), Unsupported);
}

}  // namespace
}  // namespace spyre::device_sim
