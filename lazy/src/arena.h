// spyre/lazy/arena.h — memory for what a launch computes on the way.
#pragma once
#include <memory>

#include "spyre/device_sim/card.h"

namespace spyre::lazy {

/// Owned by the launches in progress that use it. Immutable; its end may be on any thread, the card
/// has its own lock.
class Arena {
 public:
  /// Throws OutOfDeviceMemory.
  Arena(device_sim::Card& card, Bytes size) : card_(card), memory_(card.allocate(size)) {}
  ~Arena() { card_.free(memory_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Bytes size() const { return memory_.length; }
  const device_sim::Piece& piece() const { return memory_.place; }

 private:
  device_sim::Card& card_;
  device_sim::Allocation memory_;
};

/// The latest arena of a stream, as long as a launch uses it. Launches of a stream run one after the
/// other, so any number of them share one.
using LatestArena = std::weak_ptr<Arena>;

}  // namespace spyre::lazy
