// spyre/device_sim/captures.h — which streams record their operations instead of running them.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <span>

#include "spyre/base/mutex.h"
#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

/// Sequences that are being recorded, by stream. Internally synchronized.
class Captures {
 public:
  /// Throws InvalidArgument if the stream is being captured already.
  void begin(StreamId stream) SPYRE_EXCLUDES(mutex_);
  /// Throws InvalidArgument if it is not.
  std::shared_ptr<const CapturedSequence> end(StreamId stream) SPYRE_EXCLUDES(mutex_);
  /// Takes the operations if their stream is being captured; whether it did.
  bool take(StreamId stream, std::span<Operation> operations) SPYRE_EXCLUDES(mutex_);
  /// Throws InvalidArgument if the stream is being captured: `what` cannot be part of a sequence.
  void refuse(StreamId stream, const char* what) const SPYRE_EXCLUDES(mutex_);

 private:
  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  mutable Mutex mutex_;
  std::map<StreamId, std::shared_ptr<CapturedSequence>> open_ SPYRE_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
};

}  // namespace spyre::device_sim
