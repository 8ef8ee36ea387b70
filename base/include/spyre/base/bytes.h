// spyre/base/bytes.h — an amount of memory, never an index or a count of elements.
#pragma once
#include <compare>
#include <cstdint>
#include <ostream>

namespace spyre {

struct Bytes {
  std::uint64_t count{};
  auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes b) { return count += b.count, *this; }
  constexpr Bytes& operator-=(Bytes b) { return count -= b.count, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.count * n}; }
  /// The smallest multiple of `unit` (a power of two) that holds this amount.
  constexpr Bytes rounded_up(Bytes unit) const {
    return {(count + unit.count - 1) & ~(unit.count - 1)};
  }
};

constexpr Bytes operator""_B(unsigned long long n) { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }

/// Prints as people read memory: "512 B", "2.50 MiB".
std::ostream& operator<<(std::ostream& out, Bytes bytes);

}  // namespace spyre
