// spyre/device_sim/operation.cpp — sums over the pieces of a transfer.
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {
namespace {

Bytes sum(Bytes first, const std::vector<Piece>& more) {
  for (const Piece& piece : more) first += piece.length;
  return first;
}

}  // namespace

Bytes length_of(const HostToDevice& copy) { return sum(copy.target.length, copy.more); }
Bytes length_of(const DeviceToHost& copy) { return sum(copy.source.length, copy.more); }

}  // namespace spyre::device_sim
