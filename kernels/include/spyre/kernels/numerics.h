// spyre/kernels/numerics.h — which numbers memory can hold.
#pragma once
#include <cstdint>

namespace spyre::kernels {

/// What a value is rounded to at an op boundary.
enum class Numerics : std::uint8_t {
  Ieee,  // what its type can hold
  Card,  // of that, what the card's format for the type can hold: float16 and bfloat16 are DLFloat16,
         // int64 is int32. Infinities stay; what float16 would lose at its upper end stays finite.
  Quirks,  // the same, and what cards have been seen to do besides: sums of float16 and bfloat16 are
           // rounded after each addition, and some operators deviate (ops/quirks.h).
};

constexpr bool is_card(Numerics numerics) { return numerics != Numerics::Ieee; }

}  // namespace spyre::kernels
