// spyre/base/dlfloat16.h — the card's 16-bit float: 1 sign, 6 exponent and 9 fraction bits.
#pragma once
#include <bit>
#include <cstdint>

namespace spyre {

/// Infinity and NaN in one code; its sign is kept. Reads back as a NaN.
inline constexpr std::uint16_t kDlfloat16Ninf = 0x7fff;
/// 2^32 * (1 + 510/512), the largest finite value.
inline constexpr std::uint16_t kDlfloat16Max = 0x7ffe;

/// Rounds to nearest, halves away from zero. There are no subnormals: the exponent field 0 is an
/// exponent like any other, and only its fraction 0 means zero, so 2^-31 itself becomes zero. What
/// lies half a step or more above the largest value becomes ninf. No branches: a loop vectorizes.
constexpr std::uint16_t dlfloat16_bits(float value) {
  constexpr std::uint32_t kLargest = (159U << 23) | (510U << 14) | 0x1fffU;
  constexpr std::uint32_t kSmallest = (127U - 31U) << 23;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded = magnitude + 0x2000U;  // a carry into the exponent is wanted
  std::uint32_t code = rounded < kSmallest ? 0 : (rounded - kSmallest) >> 14;
  code = magnitude > kLargest ? kDlfloat16Ninf : code;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | code);
}

/// The same from float64, with one rounding.
constexpr std::uint16_t dlfloat16_bits(double value) {
  constexpr std::uint64_t kTooLarge = (1055ULL << 52) | (1021ULL << 42);  // 2^32 * (1 + 510.5/512)
  constexpr std::uint64_t kSmallest = (1023ULL - 31ULL) << 52;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~(1ULL << 63);
  const std::uint64_t rounded = magnitude + (1ULL << 42);
  std::uint64_t code = rounded < kSmallest ? 0 : (rounded - kSmallest) >> 43;
  code = magnitude >= kTooLarge ? kDlfloat16Ninf : code;
  return static_cast<std::uint16_t>(((bits >> 48) & 0x8000U) | code);
}

constexpr float dlfloat16_value(std::uint16_t bits) {
  constexpr std::uint32_t kSmallest = (127U - 31U) << 23;
  constexpr std::uint32_t kNan = 0x7fc00000U;
  const std::uint32_t code = bits & 0x7fffU;
  std::uint32_t magnitude = code == 0 ? 0 : (code << 14) + kSmallest;
  magnitude = code == kDlfloat16Ninf ? kNan : magnitude;
  return std::bit_cast<float>(((bits & 0x8000U) << 16) | magnitude);
}

}  // namespace spyre
