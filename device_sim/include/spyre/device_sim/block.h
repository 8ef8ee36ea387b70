// spyre/device_sim/block.h — a run of memory in one state.
#pragma once
#include <cstdint>

#include "spyre/base/bytes.h"

namespace spyre::device_sim {

/// Memory is handed out in these: a stick each.
inline constexpr Bytes kBlock = 128_B;

enum class BlockState : std::uint8_t {
  Allocated,
  Kept,  // free, waiting for a request of equal length
  Free,
};

/// What was allocated at once, or a free run. A value; owns nothing.
struct Block {
  Bytes offset, length;
  BlockState state{};
  friend bool operator==(const Block&, const Block&) = default;
};

}  // namespace spyre::device_sim
