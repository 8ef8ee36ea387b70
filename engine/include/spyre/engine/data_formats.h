// spyre/engine/data_formats.h — what a torch type is on the host's and on the card's side of a transfer.
#pragma once
#include <c10/core/ScalarType.h>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/data_format.h"

namespace spyre::engine {

/// Upstream's table. The device side is Invalid for types that the card does not know.
constexpr device_sim::StorageFormats formats_of(c10::ScalarType type) {
  using enum device_sim::DataFormat;
  switch (type) {
    case c10::ScalarType::Half: return {IeeeFp16, Sen169Fp16};
    case c10::ScalarType::BFloat16: return {Bfloat16, Sen169Fp16};
    case c10::ScalarType::Bool: return {Bool, Sen169Fp16};
    case c10::ScalarType::Float: return {IeeeFp32, IeeeFp32};
    case c10::ScalarType::Long: return {IeeeInt64, IeeeInt32};
    case c10::ScalarType::Int: return {IeeeInt32, IeeeInt32};
    case c10::ScalarType::Short: return {SenInt16, SenInt16};
    case c10::ScalarType::Char: return {SenInt8, SenInt8};
    case c10::ScalarType::Byte: return {SenUint32, SenUint32};
    case c10::ScalarType::Float8_e4m3fn: return {Sen143Fp8, Sen143Fp8};
    case c10::ScalarType::Float8_e5m2fnuz: return {Sen152Fp8, Sen152Fp8};
    default: return {};
  }
}

/// Throws Unsupported for types that the card does not know.
inline device_sim::DataFormat device_format(c10::ScalarType type) {
  const device_sim::DataFormat format = formats_of(type).device;
  if (format == device_sim::DataFormat::Invalid)
    throw Unsupported(str("spyre: the card does not support dtype ", c10::toString(type)));
  return format;
}

}  // namespace spyre::engine
