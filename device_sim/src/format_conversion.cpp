// spyre/device_sim/format_conversion.cpp — one small class per format says how an element is stored and which value it
// has; a loop over two of them is a conversion.
#include "spyre/device_sim/format_conversion.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "spyre/base/dlfloat16.h"
#include "spyre/base/error.h"
#include "spyre/base/float16.h"
#include "spyre/base/float8.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

/// Toward zero, stopping at the ends of the range; NaN gives 0.
template <class Integer, class Float> Integer truncated(Float value, Integer low, Integer high) {
  if (!(value == value)) return 0;
  if (value <= static_cast<Float>(low)) return low;
  if (value >= static_cast<Float>(high)) return high;
  return static_cast<Integer>(value);
}

// A codec: Stored is the element in memory, Value what it means; encode takes every Value that a
// listed pair can bring.

struct Float32Codec {
  using Stored = float;
  static float decode(float stored) { return stored; }
  static float encode(float value) { return value; }
  static float encode(std::int64_t value) { return static_cast<float>(value); }
};

struct Dl16Codec {
  using Stored = std::uint16_t;
  static float decode(Stored stored) { return dlfloat16_value(stored); }
  static Stored encode(float value) { return dlfloat16_bits(value); }
  // An integer above 2^53 is too large for the format whichever way it rounds.
  static Stored encode(std::int64_t value) { return dlfloat16_bits(static_cast<double>(value)); }
};

/// What float16 data becomes on the way to the card: +-65504, a tie, does not become 65536.
struct Dl16FromFloat16Codec {
  using Stored = std::uint16_t;
  static Stored encode(float value) {
    constexpr float kLargest = 65472.0F;
    const bool clamps = value > kLargest && value <= 65504.0F;
    const bool clamps_below = value < -kLargest && value >= -65504.0F;
    value = clamps ? kLargest : value;
    return dlfloat16_bits(clamps_below ? -kLargest : value);
  }
};

struct Float16Codec {
  using Stored = std::uint16_t;
  static float decode(Stored stored) { return float16_value(stored); }
  static Stored encode(float value) { return float16_bits(value); }
};

struct Bfloat16Codec {
  using Stored = std::uint16_t;
  static float decode(Stored stored) { return bfloat16_value(stored); }
  static Stored encode(float value) { return bfloat16_bits(value); }
};

template <const Float8Kind& kKind> struct Float8Codec {
  using Stored = std::uint8_t;
  static float decode(Stored stored) { return float8_value(kKind, stored); }
  static Stored encode(float value) { return float8_bits(kKind, value); }
};

struct BoolCodec {
  using Stored = std::uint8_t;
  static float decode(Stored stored) { return stored == 0 ? 0.0F : 1.0F; }
  static Stored encode(float value) { return value != 0.0F ? 1 : 0; }  // a NaN is not zero
};

template <class Integer> struct IntegerCodec {
  using Stored = Integer;
  static std::int64_t decode(Stored stored) { return static_cast<std::int64_t>(stored); }
  static Stored encode(std::int64_t value) { return static_cast<Stored>(value); }
  static Stored encode(float value) {
    return truncated<Stored>(value, std::numeric_limits<Stored>::min(),
                             std::numeric_limits<Stored>::max());
  }
};

/// `kBits` below a byte: several elements share one.
template <unsigned kBits, bool kSigned> struct PackedCodec {
  static constexpr unsigned kPerByte = 8 / kBits;
  static constexpr int kLow = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr int kHigh = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
  static float decode(unsigned field) {
    const int value = static_cast<int>(field);
    return static_cast<float>(kSigned && value > kHigh ? value - (1 << kBits) : value);
  }
  static unsigned encode(float value) {
    return static_cast<unsigned>(truncated<int>(value, kLow, kHigh)) & ((1U << kBits) - 1);
  }
};
using Int4Codec = PackedCodec<4, true>;
using Uint2Codec = PackedCodec<2, false>;

template <class From, class To>
void convert_run(const std::byte* source, std::byte* target, std::int64_t count) {
  using Source = typename From::Stored;
  using Target = typename To::Stored;
  for (std::int64_t i = 0; i < count; ++i) {
    Source element;
    std::memcpy(&element, source + i * static_cast<std::int64_t>(sizeof element), sizeof element);
    const Target result = To::encode(From::decode(element));
    std::memcpy(target + i * static_cast<std::int64_t>(sizeof result), &result, sizeof result);
  }
}

template <class Packed>
void pack_run(const std::byte* source, std::byte* target, std::int64_t count) {
  for (std::int64_t first = 0; first < count; first += Packed::kPerByte) {
    unsigned byte = 0;
    for (std::int64_t i = first; i < std::min<std::int64_t>(count, first + Packed::kPerByte); ++i) {
      float value;
      std::memcpy(&value, source + i * 4, 4);
      byte |= Packed::encode(value) << (8 / Packed::kPerByte * static_cast<unsigned>(i - first));
    }
    target[first / Packed::kPerByte] = static_cast<std::byte>(byte);
  }
}

template <class Packed>
void unpack_run(const std::byte* source, std::byte* target, std::int64_t count) {
  constexpr unsigned kBits = 8 / Packed::kPerByte;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned>(source[i / Packed::kPerByte]);
    const unsigned shift = kBits * static_cast<unsigned>(i % Packed::kPerByte);
    const float value = Packed::decode((byte >> shift) & ((1U << kBits) - 1));
    std::memcpy(target + i * 4, &value, 4);
  }
}

template <unsigned kBits>
void copy_run(const std::byte* source, std::byte* target, std::int64_t count) {
  std::memcpy(target, source, (static_cast<std::size_t>(count) * kBits + 7) / 8);
}

ConvertRun copy_of(DataFormat format) {
  switch (bits_of(format)) {
    case 2: return copy_run<2>;
    case 4: return copy_run<4>;
    case 8: return copy_run<8>;
    case 16: return copy_run<16>;
    case 32: return copy_run<32>;
    case 64: return copy_run<64>;
    default: return nullptr;
  }
}

using E4m3fnCodec = Float8Codec<kFloat8E4m3fn>;
using E5m2fnuzCodec = Float8Codec<kFloat8E5m2fnuz>;
using Int8Codec = IntegerCodec<std::int8_t>;
using Int16Codec = IntegerCodec<std::int16_t>;
using Int32Codec = IntegerCodec<std::int32_t>;
using Uint32Codec = IntegerCodec<std::uint32_t>;
using Int64Codec = IntegerCodec<std::int64_t>;

using enum DataFormat;

constexpr std::array kConversions = {
    FormatPair{IeeeFp32, Sen169Fp16, convert_run<Float32Codec, Dl16Codec>},
    FormatPair{IeeeFp32, IeeeFp16, convert_run<Float32Codec, Float16Codec>},
    FormatPair{IeeeFp32, Bfloat16, convert_run<Float32Codec, Bfloat16Codec>},
    FormatPair{IeeeFp32, Sen143Fp8, convert_run<Float32Codec, E4m3fnCodec>},
    FormatPair{IeeeFp32, Sen152Fp8, convert_run<Float32Codec, E5m2fnuzCodec>},
    FormatPair{IeeeFp32, SenInt8, convert_run<Float32Codec, Int8Codec>},
    FormatPair{IeeeFp32, SenInt4, pack_run<Int4Codec>},
    FormatPair{IeeeFp32, SenUint2, pack_run<Uint2Codec>},
    FormatPair{Sen169Fp16, IeeeFp32, convert_run<Dl16Codec, Float32Codec>},
    FormatPair{Sen169Fp16, IeeeFp16, convert_run<Dl16Codec, Float16Codec>},
    FormatPair{Sen169Fp16, Bfloat16, convert_run<Dl16Codec, Bfloat16Codec>},
    FormatPair{Sen169Fp16, SenInt16, convert_run<Dl16Codec, Int16Codec>},
    FormatPair{Sen169Fp16, IeeeInt64, convert_run<Dl16Codec, Int64Codec>},
    FormatPair{Sen169Fp16, Bool, convert_run<Dl16Codec, BoolCodec>},
    FormatPair{IeeeFp16, IeeeFp32, convert_run<Float16Codec, Float32Codec>},
    FormatPair{IeeeFp16, Bfloat16, convert_run<Float16Codec, Bfloat16Codec>},
    FormatPair{IeeeFp16, Sen169Fp16, convert_run<Float16Codec, Dl16FromFloat16Codec>},
    FormatPair{Bfloat16, IeeeFp32, convert_run<Bfloat16Codec, Float32Codec>},
    FormatPair{Bfloat16, Sen169Fp16, convert_run<Bfloat16Codec, Dl16Codec>},
    FormatPair{Sen143Fp8, IeeeFp32, convert_run<E4m3fnCodec, Float32Codec>},
    FormatPair{Sen152Fp8, IeeeFp32, convert_run<E5m2fnuzCodec, Float32Codec>},
    FormatPair{SenInt8, IeeeFp32, convert_run<Int8Codec, Float32Codec>},
    FormatPair{SenInt4, IeeeFp32, unpack_run<Int4Codec>},
    FormatPair{SenUint2, IeeeFp32, unpack_run<Uint2Codec>},
    FormatPair{Bool, Sen169Fp16, convert_run<BoolCodec, Dl16Codec>},
    FormatPair{SenInt16, Sen169Fp16, convert_run<Int16Codec, Dl16Codec>},
    FormatPair{IeeeInt64, Sen169Fp16, convert_run<Int64Codec, Dl16Codec>},
    FormatPair{IeeeInt64, IeeeInt32, convert_run<Int64Codec, Int32Codec>},
    FormatPair{IeeeInt64, SenUint32, convert_run<Int64Codec, Uint32Codec>},
    FormatPair{IeeeInt32, IeeeInt64, convert_run<Int32Codec, Int64Codec>},
    FormatPair{SenUint32, IeeeInt64, convert_run<Uint32Codec, Int64Codec>},
};

ConvertRun find(DataFormat from, DataFormat to) {
  if (from == to) return copy_of(from);
  const auto found = std::ranges::find_if(
      kConversions, [&](const FormatPair& pair) { return pair.from == from && pair.to == to; });
  return found == kConversions.end() ? nullptr : found->convert;
}

}  // namespace

std::span<const FormatPair> conversions() { return kConversions; }

bool is_convertible(DataFormat from, DataFormat to) { return find(from, to) != nullptr; }

ConvertRun conversion(DataFormat from, DataFormat to) {
  const ConvertRun found = find(from, to);
  if (found == nullptr) throw Unsupported(str("no conversion from ", from, " to ", to));
  return found;
}

std::uint32_t encode_constant(float value, DataFormat format) {
  std::uint32_t bits = 0;
  conversion(DataFormat::IeeeFp32, format)(std::bit_cast<std::array<std::byte, 4>>(value).data(),
                                           reinterpret_cast<std::byte*>(&bits), 1);
  return bits;
}

}  // namespace spyre::device_sim
