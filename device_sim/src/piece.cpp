// spyre/device_sim/piece.cpp — ranges of allocations that have several pieces.
#include "spyre/device_sim/piece.h"

#include <algorithm>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {

std::vector<Piece> parts(const Allocation& allocation, Bytes offset, Bytes length) {
  std::vector<Piece> out;
  Bytes left = length;
  for (const Piece& piece : allocation.pieces) {
    if (left == 0_B) break;
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const Bytes here = std::min(piece.length - offset, left);
    out.push_back({piece.region, piece.offset + offset, here});
    left -= here;
    offset = 0_B;
  }
  if (left != 0_B)
    throw InvalidArgument(
        str("device memory: ", left, " more than the allocation of ", allocation.length, " has"));
  return out;
}

}  // namespace spyre::device_sim
