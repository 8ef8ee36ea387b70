// spyre/device_sim/format_conversion.h — elements of one format into elements of another, as a transfer does it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "spyre/device_sim/data_format.h"

namespace spyre::device_sim {

/// Converts `count` elements that lie one after the other. Formats below a byte fill each byte from
/// its low bits; a last byte that is not full is zero above.
using ConvertRun = void (*)(const std::byte* source, std::byte* target, std::int64_t count);

struct FormatPair {
  DataFormat from{}, to{};
  ConvertRun convert = nullptr;
};

/// Every conversion that a transfer can make, those between equal formats not listed. Floats to
/// integers go toward zero and stop at the ends of the range, NaN gives 0; integers to integers
/// keep the low bits; floats to floats round to nearest even, to SEN169_FP16 halves go away from
/// zero. IEEE_FP16's largest values stay below 65504 in SEN169_FP16, so that they come back finite.
std::span<const FormatPair> conversions();

/// True for equal formats that can be stored, and for the listed pairs.
bool is_convertible(DataFormat from, DataFormat to);

/// Throws Unsupported if the pair is not convertible.
ConvertRun conversion(DataFormat from, DataFormat to);

/// The bits of a constant in a format to which IEEE_FP32 converts. Throws Unsupported otherwise.
std::uint32_t encode_constant(float value, DataFormat format);

}  // namespace spyre::device_sim
