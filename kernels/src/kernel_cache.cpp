// spyre/kernels/kernel_cache.cpp — a list in order of use, and an index from key hashes into it.
#include "spyre/kernels/kernel_cache.h"

#include <chrono>
#include <list>
#include <string>
#include <unordered_map>

#include "spyre/base/hash.h"
#include "spyre/base/log.h"
#include "spyre/base/mutex.h"
#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

/// The parts of an entry that neither its key nor its code counts.
constexpr Bytes kEntryOverhead{512};

struct Entry {
  std::string key;
  std::shared_ptr<const Kernel> kernel;  // shared with the plans that launch it
  Hash128 hash;
  Bytes bytes;
};

std::string full_key(const KernelSpec& spec, Execution execution, Isa isa) {
  std::string key = spec.key();
  key.push_back(static_cast<char>(execution));
  key.push_back(execution == Execution::Vector ? static_cast<char>(isa) : '\0');
  return key;
}

std::shared_ptr<const Kernel> make(const KernelSpec& spec, Execution execution, Isa isa) {
  switch (execution) {
    case Execution::Scalar: return interpret(spec);
    case Execution::Null: return null_kernel(spec);
    default: return compile(spec, isa);
  }
}

}  // namespace

struct KernelCache::State {
  explicit State(Bytes c) : capacity(c) {}

  using Order = std::list<Entry>;  // most recently used first

  Hash128 hash_of(const std::string& key) const SPYRE_REQUIRES(mutex) {
    return hash(std::as_bytes(std::span(key))).masked(hash_bits);
  }

  Order::iterator find(const std::string& key, Hash128 h) SPYRE_REQUIRES(mutex) {
    const auto [first, last] = index.equal_range(h);
    for (auto i = first; i != last; ++i)
      if (i->second->key == key) return i->second;
    return order.end();
  }

  std::shared_ptr<const Kernel> use(Order::iterator entry) SPYRE_REQUIRES(mutex) {
    order.splice(order.begin(), order, entry);
    return entry->kernel;
  }

  void insert(Entry entry) SPYRE_REQUIRES(mutex) {
    counts.bytes += entry.bytes.count;
    ++counts.entries;
    order.push_front(std::move(entry));
    index.emplace(order.front().hash, order.begin());
    while (counts.bytes > capacity.count && !order.empty()) evict_last();
  }

  void evict_last() SPYRE_REQUIRES(mutex) {
    const auto last = std::prev(order.end());
    const auto [first, end] = index.equal_range(last->hash);
    for (auto i = first; i != end; ++i) {
      if (i->second != last) continue;
      index.erase(i);
      break;
    }
    counts.bytes -= last->bytes.count;
    --counts.entries;
    ++counts.evictions;
    order.erase(last);
  }

  void clear() SPYRE_REQUIRES(mutex) {
    index.clear();
    order.clear();
    counts.entries = 0;
    counts.bytes = 0;
  }

  const Bytes capacity;
  mutable Mutex mutex;
  Order order SPYRE_GUARDED_BY(mutex);
  std::unordered_multimap<Hash128, Order::iterator> index SPYRE_GUARDED_BY(mutex);
  unsigned hash_bits SPYRE_GUARDED_BY(mutex) = 128;
  CacheCounts counts SPYRE_GUARDED_BY(mutex);
  std::uint64_t compiled SPYRE_GUARDED_BY(mutex) = 0;
  std::uint64_t nanoseconds SPYRE_GUARDED_BY(mutex) = 0;
};

KernelCache::KernelCache(Bytes capacity) : state_(std::make_unique<State>(capacity)) {}
KernelCache::~KernelCache() = default;

std::shared_ptr<const Kernel> KernelCache::find_or_compile(const KernelSpec& spec,
                                                           Execution execution, Isa isa) {
  std::string key = full_key(spec, execution, isa);
  {
    const Lock lock(state_->mutex);
    const auto found = state_->find(key, state_->hash_of(key));
    if (found != state_->order.end()) {
      ++state_->counts.hits;
      return state_->use(found);
    }
    ++state_->counts.misses;
  }
  // Compiled without the lock: two threads may compile one spec at once, and the first to finish is kept.
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const Kernel> kernel = make(spec, execution, isa);
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now() - start);
  log(LogChannel::Emit, [&] {
    return str(kernel->code_bytes(), " in ", elapsed.count() / 1000, " us:\n", spec.print());
  });

  const Lock lock(state_->mutex);
  state_->compiled += 1;
  state_->nanoseconds += static_cast<std::uint64_t>(elapsed.count());
  const Hash128 h = state_->hash_of(key);
  const auto found = state_->find(key, h);
  if (found != state_->order.end()) return state_->use(found);
  const Bytes bytes = kernel->code_bytes() + Bytes{key.size()} + kEntryOverhead;
  state_->insert({std::move(key), kernel, h, bytes});
  return kernel;
}

CacheCounts KernelCache::counts() const {
  const Lock lock(state_->mutex);
  return state_->counts;
}

std::uint64_t KernelCache::kernels_compiled() const {
  const Lock lock(state_->mutex);
  return state_->compiled;
}

std::uint64_t KernelCache::compile_nanoseconds() const {
  const Lock lock(state_->mutex);
  return state_->nanoseconds;
}

void KernelCache::clear() {
  const Lock lock(state_->mutex);
  state_->clear();
}

void KernelCache::reset_counts() {
  const Lock lock(state_->mutex);
  state_->counts.hits = state_->counts.misses = state_->counts.evictions = 0;
  state_->compiled = state_->nanoseconds = 0;
}

void KernelCache::set_hash_mask(unsigned bits) {
  const Lock lock(state_->mutex);
  state_->clear();
  state_->hash_bits = bits;
}

}  // namespace spyre::kernels
