// spyre/device_sim/picoseconds.h — modelled time, never mixed with wall time.
#pragma once
#include <compare>
#include <cstdint>

namespace spyre::device_sim {

/// An integer, so that sums do not depend on their order. 2^64 of them are 213 days.
struct Picoseconds {
  std::uint64_t count{};
  auto operator<=>(const Picoseconds&) const = default;
  constexpr Picoseconds& operator+=(Picoseconds t) { return count += t.count, *this; }
  friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) {
    return {a.count + b.count};
  }
  friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) {
    return {a.count - b.count};
  }
};

}  // namespace spyre::device_sim
