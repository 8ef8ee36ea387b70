// spyre/device_sim/operation.cpp — sums over the pieces of a transfer; what an operation owns.
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {
namespace {

Bytes sum(Bytes first, const std::vector<Piece>& more) {
  for (const Piece& piece : more) first += piece.length;
  return first;
}

void drop(HostToDevice& copy) { copy.keep_alive.reset(); }
void drop(DeviceToHost& copy) { copy.keep_alive.reset(); }
void drop(Compute& compute) { compute.program.reset(); }
void drop(HostCallback& callback) { callback.function = nullptr; }

}  // namespace

Bytes length_of(const HostToDevice& copy) { return sum(copy.target.length, copy.more); }
Bytes length_of(const DeviceToHost& copy) { return sum(copy.source.length, copy.more); }

void release(Operation& operation) {
  std::visit([](auto& what) { drop(what); }, operation.what);
  operation.keep_alive.reset();
}

}  // namespace spyre::device_sim
