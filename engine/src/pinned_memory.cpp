// spyre/engine/pinned_memory.cpp — blocks by address. A transfer in flight shares its block's ownership, so a tensor
// may die before its copy is done.
#include "spyre/engine/pinned_memory.h"

#include <cstdlib>
#include <map>
#include <new>

#include "spyre/base/bytes.h"
#include "spyre/base/mutex.h"

namespace spyre::engine {
namespace {

constexpr Bytes kPage = 4_KiB;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }  // from aligned_alloc
};

struct Block {
  explicit Block(Bytes bytes)
      : size(bytes),
        memory(static_cast<std::byte*>(
            std::aligned_alloc(kPage.count, bytes.rounded_up(kPage).count))) {
    if (memory == nullptr) throw std::bad_alloc();
  }
  Bytes size;
  std::unique_ptr<std::byte, Free> memory;
};

/// The live blocks, by first address. Internally synchronized.
class Registry {
 public:
  std::byte* add(Bytes size) SPYRE_EXCLUDES(mutex_) {
    auto block = std::make_shared<const Block>(size);
    std::byte* start = block->memory.get();
    const Lock lock(mutex_);
    blocks_.emplace(start, std::move(block));
    count(static_cast<std::int64_t>(size.count), 1);
    return start;
  }
  void remove(std::byte* start) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto found = blocks_.find(start);
    count(-static_cast<std::int64_t>(found->second->size.count), -1);
    blocks_.erase(found);
  }
  std::shared_ptr<const Block> around(const std::byte* address) const SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return nullptr;
    const auto& block = std::prev(next)->second;
    return address < block->memory.get() + block->size.count ? block : nullptr;
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
  std::array<Stat*, 4> stats_of_interest() SPYRE_REQUIRES(mutex_) {
    return {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations,
            &stats_.allocated_bytes};
  }
  void count(std::int64_t bytes, std::int64_t blocks) SPYRE_REQUIRES(mutex_) {
    const auto add = [](Stat& stat, std::int64_t amount) {
      if (amount >= 0) stat.increase(static_cast<std::size_t>(amount));
      else stat.decrease(static_cast<std::size_t>(-amount));
    };
    add(stats_.active_requests, blocks);
    add(stats_.allocations, blocks);
    add(stats_.active_bytes, bytes);
    add(stats_.allocated_bytes, bytes);
    (blocks > 0 ? stats_.num_host_alloc : stats_.num_host_free) += 1;
  }

  mutable Mutex mutex_;
  std::map<const std::byte*, std::shared_ptr<const Block>> blocks_ SPYRE_GUARDED_BY(mutex_);
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
  void empty_cache() override {}  // nothing is kept back
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
