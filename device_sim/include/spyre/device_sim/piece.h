// spyre/device_sim/piece.h — where device memory is: region, offset, length.
#pragma once
#include <cstddef>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/base/ids.h"

namespace spyre::device_sim {

/// A contiguous run of device memory. A value; owns nothing.
struct Piece {
  RegionId region = {};
  Bytes offset = {}, length = {};
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// What the allocator hands out. One piece unless asked to interleave. A value; owns nothing.
struct Allocation {
  std::vector<Piece> pieces = {};
  Bytes length = {};  // requested
  bool empty() const { return pieces.empty(); }
};

}  // namespace spyre::device_sim
