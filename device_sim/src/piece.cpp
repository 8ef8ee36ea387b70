// spyre/device_sim/piece.cpp — parts of allocations.
#include "spyre/device_sim/piece.h"

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {

std::span<const Piece> Allocation::pieces() const {
  if (!chunks.empty()) return chunks;
  return {&place, empty() ? 0U : 1U};
}

Piece part_of(const Allocation& allocation, Bytes offset, Bytes length) {
  if (offset + length > allocation.place.length)
    throw InvalidArgument(str("device memory: bytes ", offset.count, " to ",
                              (offset + length).count, " of an allocation of ", allocation.length));
  return {allocation.place.region, allocation.place.offset + offset, length};
}

}  // namespace spyre::device_sim
