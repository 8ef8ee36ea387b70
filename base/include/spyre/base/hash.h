// spyre/base/hash.h — 128-bit content hashes for cache keys.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace spyre {

/// A value. Equal bytes give equal hashes; a cache hit must still compare the bytes themselves.
struct Hash128 {
  std::uint64_t low = 0, high = 0;
  auto operator<=>(const Hash128&) const = default;
  /// Keeps the lowest `bits` only, so that tests can force collisions.
  constexpr Hash128 masked(unsigned bits) const {
    const auto keep = [](unsigned n) { return n >= 64 ? ~0ULL : (1ULL << n) - 1; };
    return {low & keep(bits), bits > 64 ? high & keep(bits - 64) : 0};
  }
};

/// XXH3-128. The same on every machine.
Hash128 hash(std::span<const std::byte> bytes);

}  // namespace spyre

template <> struct std::hash<spyre::Hash128> {
  std::size_t operator()(const spyre::Hash128& h) const noexcept { return h.low ^ h.high; }
};
