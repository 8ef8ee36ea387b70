// spyre/engine/stream_pool.h — the streams of one card: a few shared ones by priority, and new ones on request.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "spyre/base/ids.h"
#include "spyre/base/mutex.h"
#include "spyre/lazy/device.h"

namespace spyre::engine {

/// Streams live as long as the card. Internally synchronized.
class StreamPool {
 public:
  static constexpr std::size_t kShared =
      32;  // per priority; handed out in turn, as torch.cuda does
  static constexpr int kHigh = -1, kNormal = 0;

  explicit StreamPool(lazy::Device& device) : device_(device) {}

  StreamId create(int priority) SPYRE_EXCLUDES(mutex_);
  StreamId next_shared(bool high_priority) SPYRE_EXCLUDES(mutex_);
  int priority(StreamId stream) const SPYRE_EXCLUDES(mutex_);
  bool exists(StreamId stream) const SPYRE_EXCLUDES(mutex_);

 private:
  struct Ring {
    std::vector<StreamId> streams;
    std::size_t next = 0;
  };
  StreamId create_locked(int priority) SPYRE_REQUIRES(mutex_);

  lazy::Device& device_;
  mutable Mutex mutex_;
  std::array<Ring, 2> shared_ SPYRE_GUARDED_BY(mutex_);  // normal, high
  std::unordered_map<StreamId, int> priorities_ SPYRE_GUARDED_BY(mutex_);
};

}  // namespace spyre::engine
