// spyre/lazy/record.cpp — scalars as the bits of their type.
#include "spyre/lazy/record.h"

#include <bit>
#include <cmath>

#include "spyre/base/float16.h"

namespace spyre::lazy {
namespace {

std::uint64_t low_bytes(std::uint64_t bits, DType type) {
  const unsigned width = 8U * size_of(type);
  return width == 64 ? bits : bits & ((1ULL << width) - 1);
}

}  // namespace

Input Input::of_double(double value, DType type) {
  std::uint64_t bits = 0;
  switch (type) {
    case DType::F64: bits = std::bit_cast<std::uint64_t>(value); break;
    case DType::F32: bits = std::bit_cast<std::uint32_t>(static_cast<float>(value)); break;
    // Through float32, as PyTorch converts a Python number.
    case DType::F16: bits = float16_bits(static_cast<float>(value)); break;
    case DType::BF16: bits = bfloat16_bits(static_cast<float>(value)); break;
    case DType::Bool: bits = value != 0 ? 1 : 0; break;
    // Outside int64 (and NaN): what x86 conversion gives, without undefined behaviour.
    default:
      bits = std::abs(value) < 0x1p63 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                                      : 1ULL << 63;
  }
  return {.kind = Kind::Scalar, .bits = low_bytes(bits, type), .scalar = type};
}

Input Input::of_int(std::int64_t value, DType type) {
  if (type == DType::Bool)
    return {.kind = Kind::Scalar, .bits = value != 0 ? 1ULL : 0ULL, .scalar = type};
  if (is_float(type)) {
    // One rounding from the integer itself where the target is float32 or float64.
    if (type == DType::F32)
      return {.kind = Kind::Scalar,
              .bits = std::bit_cast<std::uint32_t>(static_cast<float>(value)),
              .scalar = type};
    return of_double(static_cast<double>(value), type);
  }
  return {.kind = Kind::Scalar,
          .bits = low_bytes(static_cast<std::uint64_t>(value), type),
          .scalar = type};
}

}  // namespace spyre::lazy
