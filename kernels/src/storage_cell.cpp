// spyre/kernels/storage_cell.cpp — loads and stores of single elements, whatever their alignment.
#include "storage_cell.h"

#include <bit>
#include <cstring>

#include "spyre/base/float16.h"

namespace spyre::kernels {
namespace {

template <class T> T read(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <class T> void write(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

std::uint64_t extended(std::int32_t value) { return static_cast<std::uint32_t>(value); }
std::uint64_t extended(float value) { return std::bit_cast<std::uint32_t>(value); }
float as_float(std::uint64_t cell) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(cell));
}

}  // namespace

std::uint64_t load_cell(DType t, const std::byte* address) {
  switch (t) {
    case DType::Bool:
    case DType::U8: return extended(std::int32_t{read<std::uint8_t>(address)});
    case DType::I8: return extended(std::int32_t{read<std::int8_t>(address)});
    case DType::I16: return extended(std::int32_t{read<std::int16_t>(address)});
    case DType::F16: return extended(float16_value(read<std::uint16_t>(address)));
    case DType::BF16: return extended(bfloat16_value(read<std::uint16_t>(address)));
    case DType::I32:
    case DType::F32: return read<std::uint32_t>(address);
    case DType::I64:
    case DType::F64: return read<std::uint64_t>(address);
  }
  return 0;
}

void store_cell(DType t, std::byte* address, std::uint64_t cell) {
  switch (t) {
    case DType::Bool:
    case DType::U8:
    case DType::I8: return write(address, static_cast<std::uint8_t>(cell));
    case DType::I16: return write(address, static_cast<std::uint16_t>(cell));
    case DType::F16: return write(address, float16_bits(as_float(cell)));
    case DType::BF16: return write(address, bfloat16_bits(as_float(cell)));
    case DType::I32:
    case DType::F32: return write(address, static_cast<std::uint32_t>(cell));
    case DType::I64:
    case DType::F64: return write(address, cell);
  }
}

}  // namespace spyre::kernels
