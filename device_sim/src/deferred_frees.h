// spyre/device_sim/deferred_frees.h — memory that goes back once nothing in flight can use it.
#pragma once
#include <atomic>
#include <deque>
#include <vector>

#include "device_memory.h"
#include "scheduler.h"
#include "spyre/base/mutex.h"

namespace spyre::device_sim {

/// Frees with the points that they wait for. Looked through in turns, a few at a time. Internally
/// synchronized.
class DeferredFrees {
 public:
  static constexpr std::size_t kAll = ~std::size_t{0};

  DeferredFrees(DeviceMemory& memory, Scheduler& scheduler)
      : memory_(memory), scheduler_(scheduler) {}

  void add(Allocation allocation, std::vector<TimelinePoint> points) SPYRE_EXCLUDES(mutex_);
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  Bytes bytes() const SPYRE_EXCLUDES(mutex_);
  /// Looks at up to `most` of them; whether it freed one. Never waits.
  bool collect(std::size_t most) SPYRE_EXCLUDES(mutex_);
  /// Waits for all; whether there was one. An operation that is waited for must not wait for this
  /// thread.
  bool drain() SPYRE_EXCLUDES(mutex_);

 private:
  struct Entry {
    Allocation allocation;
    std::vector<TimelinePoint> points;
  };
  bool ready(const Entry& entry) const;

  DeviceMemory& memory_;
  Scheduler& scheduler_;
  mutable Mutex mutex_;
  std::deque<Entry> entries_ SPYRE_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
};

}  // namespace spyre::device_sim
