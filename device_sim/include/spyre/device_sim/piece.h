// spyre/device_sim/piece.h — where device memory is: region, offset, length.
#pragma once
#include <cstddef>
#include <cstdint>
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

/// What the allocator hands out. One piece unless asked to interleave; none if nothing was asked
/// for. A value; owns nothing.
struct Allocation {
  std::vector<Piece> pieces = {};
  Bytes length = {};  // requested
  bool empty() const { return pieces.empty(); }
};

/// `length` bytes of an allocation from `offset` on, in order. Throws InvalidArgument if it has
/// fewer.
std::vector<Piece> parts(const Allocation& allocation, Bytes offset, Bytes length);

/// A place as a program on the card names it: a region's handle (physical functions: its address;
/// virtual ones: its index in the firmware's table) and an offset.
struct LogicalAddress {
  std::uint64_t region_handle = 0;
  Bytes offset = {};
  friend bool operator==(const LogicalAddress&, const LogicalAddress&) = default;
};

}  // namespace spyre::device_sim
