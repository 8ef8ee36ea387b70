// spyre/engine/pinned_memory.cpp — blocks by address, and blocks that wait for their next use.
//
// A transfer in flight shares its block's ownership, so a tensor may die before its copy is done;
// the block waits until both are.
#include "spyre/engine/pinned_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <new>

#include "spyre/base/bytes.h"
#include "spyre/base/mutex.h"

namespace spyre::engine {
namespace {

constexpr Bytes kPage = 4_KiB;
constexpr Bytes kMostKept = 1_GiB;  // of blocks that nobody uses

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }  // from aligned_alloc
};

/// Sizes are powers of two, so that blocks are found again by requests of about their size.
struct Block {
  explicit Block(Bytes bytes)
      : size(bytes), memory(static_cast<std::byte*>(std::aligned_alloc(kPage.count, size.count))) {
    if (memory == nullptr) throw std::bad_alloc();
  }
  Bytes size;
  std::unique_ptr<std::byte, Free> memory;
};

Bytes block_size(Bytes request) { return std::max(kPage, Bytes{std::bit_ceil(request.count)}); }

/// The live blocks, by first address, and the unused ones, by size. Internally synchronized.
class Registry {
 public:
  std::byte* add(Bytes size) SPYRE_EXCLUDES(mutex_) {
    std::unique_ptr<Block> block = take(block_size(size));
    std::byte* start = block->memory.get();
    // The last owner, a tensor or a transfer, brings it back.
    std::shared_ptr<Block> shared(block.release(),
                                  [this](Block* done) { keep(std::unique_ptr<Block>(done)); });
    const Lock lock(mutex_);
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(shared->size.count);
    blocks_.emplace(start, std::move(shared));
    return start;
  }
  void remove(std::byte* start) SPYRE_EXCLUDES(mutex_) {
    std::shared_ptr<const Block> block;  // outlives the lock, which its end takes
    const Lock lock(mutex_);
    const auto found = blocks_.find(start);
    block = std::move(found->second);
    blocks_.erase(found);
    stats_.active_requests.decrease(1);
    stats_.active_bytes.decrease(block->size.count);
  }
  std::shared_ptr<const Block> around(const std::byte* address) const SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return nullptr;
    const auto& block = std::prev(next)->second;
    return address < block->memory.get() + block->size.count ? block : nullptr;
  }
  /// Gives the unused blocks back to the system.
  void let_go() SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    for (const auto& [size, block] : unused_) count_freed(size);
    unused_.clear();
    kept_ = {};
  }
  at::HostStats stats() const SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return stats_;
  }
  void reset_accumulated() SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    for (auto* stat : stats_of_interest()) stat->reset_accumulated();
    stats_.num_host_alloc = stats_.num_host_free = 0;
  }
  void reset_peak() SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    for (auto* stat : stats_of_interest()) stat->reset_peak();
  }

 private:
  using Stat = c10::CachingAllocator::Stat;
  std::unique_ptr<Block> take(Bytes size) SPYRE_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    if (const auto found = unused_.find(size); found != unused_.end()) {
      std::unique_ptr<Block> block = std::move(found->second);
      unused_.erase(found);
      kept_ -= size;
      return block;
    }
    lock.unlock();
    auto block = std::make_unique<Block>(size);
    lock.lock();
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(size.count);
    ++stats_.num_host_alloc;
    return block;
  }
  void keep(std::unique_ptr<Block> block) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const Bytes size = block->size;
    if (kept_ + size > kMostKept) return count_freed(size);
    kept_ += size;
    unused_.emplace(size, std::move(block));
  }
  void count_freed(Bytes size) SPYRE_REQUIRES(mutex_) {
    stats_.allocations.decrease(1);
    stats_.allocated_bytes.decrease(size.count);
    ++stats_.num_host_free;
  }
  std::array<Stat*, 4> stats_of_interest() SPYRE_REQUIRES(mutex_) {
    return {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations,
            &stats_.allocated_bytes};
  }

  mutable Mutex mutex_;
  std::map<const std::byte*, std::shared_ptr<const Block>> blocks_ SPYRE_GUARDED_BY(mutex_);
  std::multimap<Bytes, std::unique_ptr<Block>> unused_ SPYRE_GUARDED_BY(mutex_);
  Bytes kept_ SPYRE_GUARDED_BY(mutex_);
  at::HostStats stats_ SPYRE_GUARDED_BY(mutex_);
};

Registry& registry() {
  static auto* instance = new Registry;  // pinned tensors may outlive every static object
  return *instance;
}

void release(void* start) { registry().remove(static_cast<std::byte*>(start)); }

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    if (size == 0) return {nullptr, nullptr, &release_nothing, c10::Device(c10::DeviceType::CPU)};
    std::byte* start = registry().add({size});
    return {start, start, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    default_copy_data(target, source, count);
  }
  // Every transfer holds the block that it uses.
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override { registry().let_go(); }
  at::HostStats get_stats() override { return registry().stats(); }
  void reset_accumulated_stats() override { registry().reset_accumulated(); }
  void reset_peak_stats() override { registry().reset_peak(); }

 private:
  static void release_nothing(void*) {}
};

}  // namespace

at::HostAllocator& pinned_allocator() {
  static auto* allocator = new PinnedAllocator;  // PyTorch never lets go of it
  return *allocator;
}

std::shared_ptr<const void> pinned_block(const void* address) {
  return registry().around(static_cast<const std::byte*>(address));
}

}  // namespace spyre::engine
