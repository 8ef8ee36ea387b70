// spyre/device_sim/data_format.h — how one element is stored, on the host or on the card.
#pragma once
#include <array>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "spyre/base/bytes.h"
#include "spyre/device_sim/block.h"

namespace spyre::device_sim {

/// The unit of the card's memory and vector lanes. Layouts give every tensor whole sticks.
inline constexpr Bytes kStick = kBlock;

/// The numbers are upstream's and are part of pickled layouts.
enum class DataFormat : std::uint8_t {
  Sen169Fp16,  // dlfloat16.h: what float16, bfloat16 and bool are on the card
  IeeeFp32,
  Invalid,
  Sen143Fp8,  // float8_e4m3fn
  Sen152Fp8,  // float8_e5m2fnuz
  Sen153Fp9,  // inside the multiplier only
  SenInt2,
  SenInt4,
  SenInt8,
  SenInt16,
  SenInt24,
  IeeeInt64,
  IeeeInt32,
  SenUint32,
  SenUint2,
  IeeeFp16,
  Bool,
  Bfloat16,
  Sen18fFp24,
};

inline constexpr std::size_t kDataFormatCount = 19;

/// "SEN169_FP16", ...
std::string_view name_of(DataFormat format);

/// Bits per stored element; 0: the format is not stored in memory.
constexpr unsigned bits_of(DataFormat format) {
  constexpr std::array<std::uint8_t, kDataFormatCount> kBits{16, 32, 0,  8,  8, 0,  2, 4,  8, 16,
                                                             0,  64, 32, 32, 2, 16, 8, 16, 0};
  return kBits[static_cast<std::size_t>(format)];
}

/// 0: the format is not stored in memory.
constexpr std::int64_t elements_per_stick(DataFormat format) {
  const unsigned bits = bits_of(format);
  return bits == 0 ? 0 : static_cast<std::int64_t>(8 * kStick.count / bits);
}

inline std::ostream& operator<<(std::ostream& out, DataFormat f) { return out << name_of(f); }

/// What a torch type is on either side of a transfer. `device` is Invalid for types that the card
/// does not know.
struct StorageFormats {
  DataFormat host = DataFormat::Invalid, device = DataFormat::Invalid;
  friend bool operator==(StorageFormats, StorageFormats) = default;
};

/// Which element of the logical row lies in which lane. Standard: in order. The numbers are
/// upstream's and are part of pickled layouts.
enum class ElementArrangement : std::uint8_t {
  Standard,
  Dl16ToFp32,  // staggered, as the widening conversion on the card leaves it
  Qfp8Ch,
  Exx2,        // two values per stick: a reduction to moments
  Fp32ToDl16,  // staggered, as the narrowing conversion on the card leaves it
  Qfp8Wt,
};

inline constexpr std::size_t kElementArrangementCount = 6;

/// "STANDARD", ...
std::string_view name_of(ElementArrangement arrangement);
inline std::ostream& operator<<(std::ostream& out, ElementArrangement a) {
  return out << name_of(a);
}

}  // namespace spyre::device_sim
