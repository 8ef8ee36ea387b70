// spyre/engine/fallback_counter.h — which operations ran on the host, and how often.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "spyre/base/mutex.h"

namespace spyre::engine {

using FallbackCounts = std::map<std::string, std::uint64_t>;  // by "aten::name.overload"

/// Internally synchronized.
class FallbackCounter {
 public:
  /// Counts one call; true if it is the first of this name.
  bool count(const std::string& name) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return ++counts_[name] == 1;
  }
  FallbackCounts counts() const SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return counts_;
  }
  void reset() SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    counts_ = {};
  }

 private:
  mutable Mutex mutex_;
  FallbackCounts counts_ SPYRE_GUARDED_BY(mutex_);
};

}  // namespace spyre::engine
