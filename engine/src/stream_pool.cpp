// spyre/engine/stream_pool.cpp — shared streams are created one by one until the ring is full.
#include "spyre/engine/stream_pool.h"

#include <algorithm>

namespace spyre::engine {

StreamId StreamPool::create_locked(int priority) {
  const int clamped = std::clamp(priority, kHigh, kNormal);
  const StreamId stream = device_.create_stream(clamped);
  priorities_.emplace(stream, clamped);
  return stream;
}

StreamId StreamPool::create(int priority) {
  const Lock lock(mutex_);
  return create_locked(priority);
}

StreamId StreamPool::next_shared(bool high_priority) {
  const Lock lock(mutex_);
  Ring& ring = shared_[high_priority ? 1 : 0];
  if (ring.streams.size() < kShared) {
    ring.streams.push_back(create_locked(high_priority ? kHigh : kNormal));
    return ring.streams.back();
  }
  return ring.streams[ring.next++ % kShared];
}

int StreamPool::priority(StreamId stream) const {
  const Lock lock(mutex_);
  const auto found = priorities_.find(stream);
  return found != priorities_.end() ? found->second : kNormal;
}

bool StreamPool::exists(StreamId stream) const {
  const Lock lock(mutex_);
  return stream == StreamId{} || priorities_.contains(stream);
}

}  // namespace spyre::engine
