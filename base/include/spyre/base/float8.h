// spyre/base/float8.h — the two 8-bit floats of the card, which are torch's float8_e4m3fn and
// float8_e5m2fnuz.
#pragma once
#include <bit>
#include <cstdint>

namespace spyre {

/// An 8-bit float without infinities. `largest`: the code of the largest finite value.
struct Float8Kind {
  unsigned fraction_bits = 0;
  int bias = 0;
  std::uint8_t largest = 0, nan = 0;
  bool signed_zero_and_nan = false;  // false: one zero, and the code of -0 is the NaN
  std::uint8_t beyond = 0;           // what a number above the largest becomes: that, or NaN
};

inline constexpr Float8Kind kFloat8E4m3fn{.fraction_bits = 3,
                                          .bias = 7,
                                          .largest = 0x7e,
                                          .nan = 0x7f,
                                          .signed_zero_and_nan = true,
                                          .beyond = 0x7e};
inline constexpr Float8Kind kFloat8E5m2fnuz{.fraction_bits = 2,
                                            .bias = 16,
                                            .largest = 0x7f,
                                            .nan = 0x80,
                                            .signed_zero_and_nan = false,
                                            .beyond = 0x80};

/// Rounds to nearest even. Infinities lie beyond the largest value.
constexpr std::uint8_t float8_bits(const Float8Kind& kind, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U, magnitude = bits & 0x7fffffffU;
  const auto with_sign = [&](std::uint32_t code) {
    const bool keeps = kind.signed_zero_and_nan || (code != 0 && code != kind.nan);
    return static_cast<std::uint8_t>(keeps ? code | sign : code);
  };
  if (magnitude > 0x7f800000U) return with_sign(kind.nan);
  if (magnitude == 0x7f800000U) return with_sign(kind.beyond);
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + kind.bias;
  const bool normal = exponent >= 1;
  // Bits to drop: more as the result becomes subnormal.
  const int drop = 23 - static_cast<int>(kind.fraction_bits) + (normal ? 0 : 1 - exponent);
  if (drop > 24) return with_sign(0);
  const std::uint32_t significand =
      normal ? magnitude - (static_cast<std::uint32_t>(127 - kind.bias) << 23)
             : (magnitude & 0x7fffffU) | 0x800000U;
  const std::uint32_t odd = (significand >> drop) & 1U;
  const std::uint32_t code = (significand + (1U << (drop - 1)) - 1 + odd) >> drop;
  return with_sign(code > kind.largest ? kind.beyond : code);
}

constexpr float float8_value(const Float8Kind& kind, std::uint8_t bits) {
  const std::uint32_t sign = (bits & 0x80U) << 24;
  const std::uint32_t code = bits & 0x7fU;
  const bool nan = kind.signed_zero_and_nan ? code == kind.nan : bits == kind.nan;
  if (nan) return std::bit_cast<float>(sign | 0x7fc00000U);
  const std::uint32_t exponent = code >> kind.fraction_bits;
  const std::uint32_t fraction = code & ((1U << kind.fraction_bits) - 1);
  if (exponent == 0) {
    const int smallest = 1 - kind.bias - static_cast<int>(kind.fraction_bits);  // exponent of 1 ulp
    const auto ulp = std::bit_cast<float>(static_cast<std::uint32_t>(127 + smallest) << 23);
    const float magnitude = static_cast<float>(fraction) * ulp;
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent + static_cast<std::uint32_t>(127 - kind.bias);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << (23 - kind.fraction_bits)));
}

}  // namespace spyre
