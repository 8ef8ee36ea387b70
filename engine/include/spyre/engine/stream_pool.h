// spyre/engine/stream_pool.h — the streams of one card: a few of each kind, handed out in turn.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "spyre/base/ids.h"
#include "spyre/base/mutex.h"
#include "spyre/lazy/device.h"

namespace spyre::engine {

/// PyTorch never says that a stream is not needed any more, so there are only so many: who asks for
/// more gets one that others use, as with torch.cuda. Streams live as long as the card. Internally
/// synchronized.
class StreamPool {
 public:
  enum class Kind : std::uint8_t { Normal, High, Host };
  static constexpr int kHigh = -1, kNormal = 0;

  explicit StreamPool(lazy::Device& device) : device_(device) {}

  StreamId next(Kind kind) SPYRE_EXCLUDES(mutex_);
  StreamId next(int priority) { return next(priority < 0 ? Kind::High : Kind::Normal); }
  int priority(StreamId stream) const SPYRE_EXCLUDES(mutex_);
  bool exists(StreamId stream) const SPYRE_EXCLUDES(mutex_);

 private:
  struct Ring {
    std::vector<StreamId> streams;
    std::size_t next = 0;
  };
  /// How many streams there are.
  std::size_t size_of(Kind kind);
  StreamId create(Kind kind, std::size_t index) SPYRE_REQUIRES(mutex_);

  lazy::Device& device_;
  mutable Mutex mutex_;
  std::array<Ring, 3> rings_ SPYRE_GUARDED_BY(mutex_);  // by kind
  std::unordered_map<StreamId, int> priorities_ SPYRE_GUARDED_BY(mutex_);
};

}  // namespace spyre::engine
