// spyre/lazy/miss_history.h — remembers compiled keys by their parts, to say what is new about the
// next one.
#pragma once
#include <cstddef>
#include <span>
#include <unordered_set>

#include "spyre/base/hash.h"
#include "spyre/lazy/key.h"
#include "spyre/lazy/miss_cause.h"

namespace spyre::lazy {

/// Keeps hashes only, a bounded number; when full it forgets all and begins again. Looked at on
/// misses only. Confined to its owner's lock.
class MissHistory {
 public:
  /// The cause of the miss on that key; remembers the key.
  MissCause explain(const KeyParts& parts);

 private:
  static constexpr std::size_t kCapacity = 16384;
  std::unordered_set<Hash128> seen_;
};

}  // namespace spyre::lazy
