// spyre/engine/stream_pool.cpp — streams are created one by one until the ring is full.
#include "spyre/engine/stream_pool.h"

namespace spyre::engine {
namespace {

constexpr std::size_t kStreamsOfPriority = 32;  // upstream's number

}  // namespace

std::size_t StreamPool::size_of(Kind kind) {
  if (kind != Kind::Host) return kStreamsOfPriority;
  return static_cast<std::size_t>(device_.card().spec().host_callback_workers);
}

StreamId StreamPool::create(Kind kind, std::size_t index) {
  if (kind == Kind::Host) return device_.host_stream(static_cast<std::uint32_t>(index));
  return device_.create_stream(kind == Kind::High ? kHigh : kNormal);
}

StreamId StreamPool::next(Kind kind) {
  const Lock lock(mutex_);
  const auto which = static_cast<std::size_t>(kind);
  Ring& ring = rings_[which];
  if (ring.streams.size() == size_of(kind)) return ring.streams[ring.next++ % ring.streams.size()];
  const StreamId stream = create(kind, ring.streams.size());
  priorities_.emplace(stream, kind == Kind::High ? kHigh : kNormal);
  ring.streams.push_back(stream);
  return stream;
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
