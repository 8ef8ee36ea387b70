// spyre/lazy/verified_cache.h — canonical bytes to shared values: least recently used goes first,
// hits are verified.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/base/hash.h"
#include "spyre/kernels/kernel_cache.h"

namespace spyre::lazy {

/// Values that left a cache, for the owner to destroy once it holds no lock: their ends may be
/// arbitrary code.
using Retired = std::vector<std::shared_ptr<const void>>;

/// An entry that may be the next one that is asked for. Says nothing once the cache has dropped any
/// entry. A value.
struct CacheHint {
  void* entry = nullptr;
  std::uint64_t generation = 0;
};

/// Bounded by bytes of keys and values; eviction is O(1). The hash only finds candidates: a hit has
/// equal bytes. Values in use live on through their shared_ptr. Confined to the holder of the
/// owner's lock.
template <class Value> class VerifiedCache {
 public:
  explicit VerifiedCache(Bytes capacity) : capacity_(capacity) {}

  /// The value that was found after the one of `before` when that was found last, if its key is
  /// the one that `same` means; else null. A hit needs no key and no hash; `before` becomes it.
  template <class Same> std::shared_ptr<Value> find_next(CacheHint& before, const Same& same) {
    const Entry* last = entry_of(before);
    Entry* entry = last != nullptr ? entry_of(last->next) : nullptr;
    if (entry == nullptr || !same(std::span<const std::byte>(entry->key))) return nullptr;
    if (entry->place != recency_.begin()) recency_.splice(recency_.begin(), recency_, entry->place);
    ++counts_.hits;
    ++predicted_;
    before = {entry, generation_};
    return entry->value;
  }
  /// After find or insert: what was found or stored comes after `before`, and becomes it.
  void expect_latest_after(CacheHint& before) {
    const CacheHint latest{&recency_.front(), generation_};
    if (Entry* last = entry_of(before)) last->next = latest;
    before = latest;
  }

  /// The value stored under `key`, or null. Counts a hit or a miss.
  std::shared_ptr<Value> find(std::span<const std::byte> key) {
    const auto [first, last] = index_.equal_range(hash_of(key));
    for (auto at = first; at != last; ++at) {
      if (!equal(at->second->key, key)) continue;
      recency_.splice(recency_.begin(), recency_, at->second);
      ++counts_.hits;
      return at->second->value;
    }
    ++counts_.misses;
    return nullptr;
  }

  /// Stores a value that find() did not have. `value_bytes`: what it occupies, keys not counted.
  /// Evicts what no longer fits, but never the new entry itself.
  void insert(std::span<const std::byte> key, std::shared_ptr<Value> value, Bytes value_bytes,
              Retired& retired) {
    const Hash128 hash = hash_of(key);
    recency_.push_front({hash,
                         {key.begin(), key.end()},
                         std::move(value),
                         value_bytes + Bytes{key.size()},
                         {},
                         {}});
    recency_.front().place = recency_.begin();
    index_.emplace(hash, recency_.begin());
    counts_.bytes += recency_.front().bytes.count;
    ++counts_.entries;
    while (counts_.bytes > capacity_.count && recency_.size() > 1) evict_oldest(retired);
  }

  void retire_all(Retired& retired) {
    for (Entry& entry : recency_) retired.push_back(std::move(entry.value));
    recency_.clear();
    index_.clear();
    counts_.entries = counts_.bytes = 0;
    ++generation_;
  }

  kernels::CacheCounts counts() const { return counts_; }
  /// Hits of find_next, which are among the hits.
  std::uint64_t predicted() const { return predicted_; }
  void reset_counts() { counts_.hits = counts_.misses = counts_.evictions = predicted_ = 0; }
  void set_capacity(Bytes capacity, Retired& retired) {
    capacity_ = capacity;
    while (counts_.bytes > capacity_.count && recency_.size() > 1) evict_oldest(retired);
  }
  /// For tests of law 4: keeps only `bits` of each hash. The cache must be empty.
  void set_hash_mask(unsigned bits) { mask_bits_ = bits; }

 private:
  struct Entry {
    Hash128 hash;
    std::vector<std::byte> key;
    std::shared_ptr<Value> value;
    Bytes bytes;
    typename std::list<Entry>::iterator place;
    CacheHint next;
  };
  using Place = typename std::list<Entry>::iterator;

  Entry* entry_of(const CacheHint& hint) const {
    return hint.generation == generation_ ? static_cast<Entry*>(hint.entry) : nullptr;
  }

  Hash128 hash_of(std::span<const std::byte> key) const { return hash(key).masked(mask_bits_); }
  static bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
  }
  void evict_oldest(Retired& retired) {
    const Place oldest = std::prev(recency_.end());
    const auto [first, last] = index_.equal_range(oldest->hash);
    for (auto at = first; at != last; ++at)
      if (at->second == oldest) {
        index_.erase(at);
        break;
      }
    counts_.bytes -= oldest->bytes.count;
    --counts_.entries;
    ++counts_.evictions;
    ++generation_;
    retired.push_back(std::move(oldest->value));
    recency_.erase(oldest);
  }

  Bytes capacity_;
  unsigned mask_bits_ = 128;
  std::uint64_t generation_ = 1;  // changes with every entry that goes
  std::list<Entry> recency_;
  std::unordered_multimap<Hash128, Place> index_;
  kernels::CacheCounts counts_;
  std::uint64_t predicted_ = 0;
};

}  // namespace spyre::lazy
