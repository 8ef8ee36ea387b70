// spyre/base/float16.h — float16 and bfloat16 storage to and from float32, in plain integer arithmetic.
#pragma once
#include <bit>
#include <cstdint>

namespace spyre {

/// Rounds to nearest even; overflow gives infinity; a NaN keeps its sign and upper payload, quieted.
constexpr std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U)
    return static_cast<std::uint16_t>(sign | 0x7c00U);                   // 65520 and above
  if (magnitude < 0x33000000U) return static_cast<std::uint16_t>(sign);  // below half of 2^-24
  const std::uint32_t exponent = magnitude >> 23;
  // Bits to drop: 13 for normal results, more as the result becomes subnormal.
  const std::uint32_t drop = exponent >= 113 ? 13 : 126 - exponent;
  const std::uint32_t significand =
      exponent >= 113 ? magnitude - (112U << 23) : (magnitude & 0x7fffffU) | 0x800000U;
  const std::uint32_t half = 1U << (drop - 1);
  const std::uint32_t odd = (significand >> drop) & 1U;
  return static_cast<std::uint16_t>(sign | ((significand + half - 1 + odd) >> drop));
}

constexpr float float16_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

/// Rounds to nearest even; a NaN stays a NaN.
constexpr std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

constexpr float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace spyre
