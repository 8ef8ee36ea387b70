// spyre/engine/stream_pool.cpp — streams are created one by one until the ring is full.
#include "spyre/engine/stream_pool.h"

namespace spyre::engine {
namespace {

/// How many streams there are, by kind: upstream's numbers.
constexpr std::array<std::size_t, 3> kStreams = {32, 32, 4};

}  // namespace

StreamId StreamPool::create(Kind kind, std::size_t index) {
  if (kind == Kind::Host) return device_.host_stream(static_cast<std::uint32_t>(index));
  return device_.create_stream(kind == Kind::High ? kHigh : kNormal);
}

StreamId StreamPool::next(Kind kind) {
  const Lock lock(mutex_);
  const auto which = static_cast<std::size_t>(kind);
  Ring& ring = rings_[which];
  if (ring.streams.size() == kStreams[which]) return ring.streams[ring.next++ % kStreams[which]];
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
