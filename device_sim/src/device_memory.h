// spyre/device_sim/device_memory.h — all regions of a card.
#pragma once
#include <vector>

#include "region.h"
#include "spyre/base/mutex.h"
#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

/// Regions of equal length. A request takes the first region that can hold it whole. Internally
/// synchronized.
class DeviceMemory {
 public:
  explicit DeviceMemory(const DeviceSpec& spec);

  /// Throws OutOfDeviceMemory.
  Allocation allocate(Bytes size) SPYRE_EXCLUDES(mutex_);
  void free(const Allocation& allocation) SPYRE_EXCLUDES(mutex_);
  std::byte* address(const Piece& piece) const {
    return bases_[piece.region.value] + piece.offset.count;
  }
  MemoryStats stats() const SPYRE_EXCLUDES(mutex_);
  std::vector<MemoryRun> runs() const SPYRE_EXCLUDES(mutex_);
  void reset_peak() SPYRE_EXCLUDES(mutex_);
  Bytes trim() SPYRE_EXCLUDES(mutex_);

 private:
  void note_allocation(Bytes length) SPYRE_REQUIRES(mutex_);
  Bytes reserved() const SPYRE_REQUIRES(mutex_);
  Bytes largest_free() const SPYRE_REQUIRES(mutex_);
  [[noreturn]] void fail(Bytes size) const SPYRE_REQUIRES(mutex_);

  std::vector<std::byte*> bases_;  // immutable
  mutable Mutex mutex_;
  std::vector<Region> regions_ SPYRE_GUARDED_BY(mutex_);
  MemoryStats stats_ SPYRE_GUARDED_BY(mutex_);
};

}  // namespace spyre::device_sim
