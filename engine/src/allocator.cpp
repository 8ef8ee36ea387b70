// spyre/engine/allocator.cpp — storages own buffers; statistics count what storages hold.
//
// "allocated" is what live storages were promised, "active" is memory that the card has handed out for it (it follows
// at a plan's launch), "reserved" is what the card keeps from the system.
#include "spyre/engine/allocator.h"

#include <c10/util/Exception.h>

#include "spyre/base/text.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"

namespace spyre::engine {
namespace {

void report_to_profiler(std::uintptr_t address, std::int64_t change, DeviceEntry& entry) {
  const auto allocated = static_cast<std::size_t>(entry.device.owned().bytes.current);
  const std::size_t reserved = entry.device.card().memory_stats().reserved.count;
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), change, allocated, reserved,
                                   c10::Device(c10::DeviceType::PrivateUse1, entry.index));
}

using Stat = c10::CachingAllocator::Stat;

void fill(c10::CachingAllocator::StatArray& target, const lazy::Tally& tally) {
  Stat& stat = target[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  stat.current = tally.current;
  stat.peak = tally.peak;
  stat.allocated = tally.allocated;
  stat.freed = tally.freed;
}

lazy::Tally tally_of(Bytes current, Bytes peak) {
  const auto now = static_cast<std::int64_t>(current.count),
             most = static_cast<std::int64_t>(peak.count);
  return {.current = now, .peak = most, .allocated = now, .freed = 0};
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    return bounded([&] { return new_memory({bytes}, current_device()); });
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr;
  }  // the context is not the address
  void copy_data(void*, const void*, std::size_t) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "spyre: a device address cannot be copied by the host; copy tensors");
  }

  bool initialized() override { return Runtime::running() != nullptr; }
  void emptyCache(c10::MempoolId_t) override {
    if (Runtime* runtime = Runtime::running()) bounded([&] { runtime->empty_caches(); });
  }
  // Traces hold references to the buffers that they use on any stream, so nothing is recycled early.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override;
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    Runtime::get().entry(device).device.reset_owned_totals();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    DeviceEntry& entry = Runtime::get().entry(device);
    entry.device.reset_owned_peak();
    entry.device.card().reset_peak_memory();
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const auto stats = Runtime::get().device(device).card().memory_stats();
    return {(stats.capacity - stats.allocated).count, stats.capacity.count};
  }
};

c10::CachingDeviceAllocator::DeviceStats Allocator::getDeviceStats(c10::DeviceIndex device) {
  DeviceEntry& entry = Runtime::get().entry(device);
  const lazy::OwnedTally storages = entry.device.owned();
  const device_sim::MemoryStats card = entry.device.card().memory_stats();
  c10::CachingDeviceAllocator::DeviceStats stats;
  fill(stats.allocation, storages.buffers);
  fill(stats.allocated_bytes, storages.bytes);
  fill(stats.requested_bytes, storages.requested);
  fill(stats.active_bytes, tally_of(card.allocated, card.peak_allocated));
  fill(stats.reserved_bytes, tally_of(card.reserved, card.peak_reserved));
  fill(stats.inactive_split_bytes, tally_of(card.reserved - card.allocated, {}));
  const auto live = static_cast<std::int64_t>(card.live),
             allocations = static_cast<std::int64_t>(card.allocations);
  fill(stats.active, {.current = live,
                      .peak = live,
                      .allocated = allocations,
                      .freed = static_cast<std::int64_t>(card.frees)});
  stats.num_device_alloc = allocations;
  stats.num_device_free = static_cast<std::int64_t>(card.frees);
  // A request that finds no memory is tried again after each relief, or given up.
  const std::uint64_t reliefs = entry.device.memory_reliefs();
  stats.num_alloc_retries = static_cast<std::int64_t>(reliefs);
  stats.num_ooms = static_cast<std::int64_t>(card.failures - std::min(reliefs, card.failures));
  return stats;
}

/// What the card can never hold is refused at once, with the card's own account of what is free.
void check_fits(DeviceEntry& entry, Bytes size) {
  if (size <= entry.capacity) return;
  entry.device.card().free(entry.device.card().allocate(size));
}

}  // namespace

// After a fork the runtime is gone: the child's copies of tensors are dropped without touching its locks.
void release_memory(void* context) {
  Runtime* runtime = Runtime::running();
  if (runtime == nullptr) return;
  auto* buffer = static_cast<lazy::Buffer*>(context);
  const std::uintptr_t address = buffer->mark();
  const Bytes size = buffer->size();
  if (size > AddressSpace::kKept) {
    runtime->entry_holding(address).addresses.give_back(address, size);
    buffer->set_mark(0);
  }
  buffer->drop_outside();
  if (size.count != 0 && c10::memoryProfilingEnabled())
    report_to_profiler(address, -static_cast<std::int64_t>(size.count),
                       runtime->entry_holding(address));
}

c10::DataPtr new_memory(Bytes size, c10::DeviceIndex device) {
  DeviceEntry& entry = Runtime::get().entry(device);
  check_fits(entry, size);
  return own(entry, entry.device.create_buffer(size));
}

c10::DataPtr new_memory(lazy::Tiled content, c10::DeviceIndex device) {
  DeviceEntry& entry = Runtime::get().entry(device);
  check_fits(entry, content.bytes());
  return own(entry, entry.device.create_buffer(std::move(content)));
}

c10::DataPtr own(DeviceEntry& entry, lazy::BufferRef buffer) {
  const Bytes size = buffer->size();
  if (size.count != 0 && buffer->mark() == 0)
    buffer->set_mark(entry.addresses.take(size, buffer.get()));
  // A buffer that served before may have an address, of which an empty storage makes no use.
  const std::uintptr_t address = size.count != 0 ? buffer->mark() : 0;
  if (c10::memoryProfilingEnabled()) [[unlikely]]
    report_to_profiler(address, static_cast<std::int64_t>(size.count), entry);
  return {reinterpret_cast<void*>(address), buffer.release(), &release_memory,
          c10::Device(c10::DeviceType::PrivateUse1, entry.index)};
}

lazy::Buffer& buffer_at(const c10::DataPtr& pointer) {
  // Made from a bare device address: at::from_blob, which PyTorch's own storage writer uses.
  const auto address = reinterpret_cast<std::uintptr_t>(pointer.get());
  Runtime& runtime = Runtime::get();
  void* owner =
      runtime.holds(address) ? runtime.entry_holding(address).addresses.owner_of(address) : nullptr;
  if (owner == nullptr && runtime.holds(address))
    throw Unsupported(
        "spyre: memory that begins where no tensor's does, as that of storage[a:b]; slice a tensor "
        "instead");
  if (owner == nullptr || !static_cast<lazy::Buffer*>(owner)->observable())
    throw TypeMismatch(
        str("spyre: a tensor on ", pointer.device().str(), " without a device buffer"));
  return *static_cast<lazy::Buffer*>(owner);
}

c10::DeviceAllocator& device_allocator() {
  static auto* allocator = new Allocator;  // outlives every storage
  return *allocator;
}

}  // namespace spyre::engine
