// spyre/base/dtype.h — the element types that kernels compute with.
#pragma once
#include <array>
#include <cstdint>
#include <ostream>
#include <string_view>

namespace spyre {

/// Order matters: it is the type-promotion order within integers and within floats.
enum class DType : std::uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64 };

inline constexpr std::size_t kDTypeCount = 10;

constexpr std::uint8_t size_of(DType t) {
  constexpr std::array<std::uint8_t, kDTypeCount> kSizes{1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<std::size_t>(t)];
}

constexpr std::string_view name_of(DType t) {
  constexpr std::array<std::string_view, kDTypeCount> kNames{
      "bool",  "uint8",   "int8",     "int16",   "int32",
      "int64", "float16", "bfloat16", "float32", "float64"};
  return kNames[static_cast<std::size_t>(t)];
}

constexpr bool is_float(DType t) { return t >= DType::F16; }
constexpr bool is_reduced_float(DType t) { return t == DType::F16 || t == DType::BF16; }

inline std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }

/// A set of element types, as a bit mask.
struct DTypeSet {
  std::uint16_t bits{};
  constexpr bool has(DType t) const { return (bits >> static_cast<unsigned>(t)) & 1U; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
    return {static_cast<std::uint16_t>(a.bits | b.bits)};
  }
  static constexpr DTypeSet range(DType first, DType last) {
    std::uint16_t bits = 0;
    for (unsigned t = static_cast<unsigned>(first); t <= static_cast<unsigned>(last); ++t)
      bits = static_cast<std::uint16_t>(bits | (1U << t));
    return {bits};
  }
};

inline constexpr DTypeSet kBoolOnly = DTypeSet::range(DType::Bool, DType::Bool);
inline constexpr DTypeSet kIntegers = DTypeSet::range(DType::U8, DType::I64);
inline constexpr DTypeSet kFloats = DTypeSet::range(DType::F16, DType::F64);
inline constexpr DTypeSet kBoolAndIntegers = kBoolOnly | kIntegers;
inline constexpr DTypeSet kNumbers = kIntegers | kFloats;
inline constexpr DTypeSet kAllTypes = kBoolOnly | kNumbers;

}  // namespace spyre
