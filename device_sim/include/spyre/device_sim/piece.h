// spyre/device_sim/piece.h — where device memory is: region, offset, length.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
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

/// What the allocator hands out: one range for those that use it, which is one piece of memory
/// unless it was asked to interleave. Empty if nothing was asked for. A value; owns nothing.
struct Allocation {
  /// What operations name. If there are chunks, a range of the window, which is in no region.
  Piece place = {};
  /// Interleaved: the pieces in the memory domains, in order. Else none.
  std::vector<Piece> chunks = {};
  Bytes length = {};  // requested

  bool empty() const { return place.length == Bytes{}; }
  /// Where it really is.
  std::span<const Piece> pieces() const;
};

/// `length` bytes of an allocation from `offset` on. Throws InvalidArgument if it has fewer.
Piece part_of(const Allocation& allocation, Bytes offset, Bytes length);

/// A place as a program on the card names it: a region's handle (physical functions: its address;
/// virtual ones: its index in the firmware's table) and an offset.
struct LogicalAddress {
  std::uint64_t region_handle = 0;
  Bytes offset = {};
  friend bool operator==(const LogicalAddress&, const LogicalAddress&) = default;
};

}  // namespace spyre::device_sim
