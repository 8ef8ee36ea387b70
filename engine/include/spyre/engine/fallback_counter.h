// spyre/engine/fallback_counter.h — which operations ran on the host, how often, and what they would have moved.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "spyre/base/mutex.h"

namespace spyre::engine {

struct FallbackCounts {
  std::map<std::string, std::uint64_t> calls;            // by "aten::name.overload"
  std::uint64_t bytes_to_host = 0, bytes_to_device = 0;  // what a real card would have transferred
};

/// Internally synchronized.
class FallbackCounter {
 public:
  /// Counts one call; true if it is the first of this name.
  bool count(const std::string& name) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return ++counts_.calls[name] == 1;
  }
  void add_bytes(std::uint64_t to_host, std::uint64_t to_device) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    counts_.bytes_to_host += to_host;
    counts_.bytes_to_device += to_device;
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
