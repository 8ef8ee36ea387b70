// spyre/engine/address_space.cpp — size classes over a reservation that is never backed by memory.
//
// Addresses cost nothing, so a class rounds up to a power of two and freed ranges wait in a list per class: taking
// and giving back are a pop and a push. The reservation holds each class's peak at once, far above any card.
#include "spyre/engine/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::engine {
namespace {

constexpr Bytes kBlock = 128_B;
constexpr Bytes kWanted = 8192_GiB, kSmallest = 16_GiB;

std::size_t class_of(Bytes size) { return std::bit_width(std::max(size, kBlock).count - 1); }

}  // namespace

void Tally::increase(std::int64_t amount) {
  current += amount;
  allocated += amount;
  peak = std::max(peak, current);
}

void Tally::decrease(std::int64_t amount) {
  current -= amount;
  freed += amount;
}

AddressSpace::AddressSpace() {
  for (std::uint64_t length = kWanted.count; length >= kSmallest.count; length /= 2) {
    void* start = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) continue;
    begin_ = reinterpret_cast<std::uintptr_t>(start);
    length_ = length;
    return;
  }
  throw OutOfDeviceMemory(str("device addresses: could not reserve even ", kSmallest, " of address space"));
}

AddressSpace::~AddressSpace() { munmap(reinterpret_cast<void*>(begin_), length_); }

std::uintptr_t AddressSpace::from_class(std::size_t size_class) {
  auto& free = free_[size_class];
  if (!free.empty()) {
    const std::uintptr_t address = free.back();
    free.pop_back();
    return address;
  }
  const std::uint64_t length = std::uint64_t{1} << size_class;
  if (length > length_ - used_) {
    throw OutOfDeviceMemory(str("device addresses: asked for ", Bytes{length}, "; used ", Bytes{used_}, " of ",
                                Bytes{length_}));
  }
  const std::uintptr_t address = begin_ + used_;
  used_ += length;
  return address;
}

std::uintptr_t AddressSpace::take(Bytes size) {
  if (size.count == 0) return 0;
  if (size.count > length_) throw OutOfDeviceMemory(str("device addresses: asked for ", size, " of ", Bytes{length_}));
  const Lock lock(mutex_);
  const std::uintptr_t address = from_class(class_of(size));
  tally_.storages.increase(1);
  tally_.requested.increase(static_cast<std::int64_t>(size.count));
  tally_.bytes.increase(static_cast<std::int64_t>(size.rounded_up(kBlock).count));
  return address;
}

void AddressSpace::give_back(std::uintptr_t address, Bytes size) {
  if (address == 0) return;
  const Lock lock(mutex_);
  free_[class_of(size)].push_back(address);
  tally_.storages.decrease(1);
  tally_.requested.decrease(static_cast<std::int64_t>(size.count));
  tally_.bytes.decrease(static_cast<std::int64_t>(size.rounded_up(kBlock).count));
}

StorageTally AddressSpace::tally() const {
  const Lock lock(mutex_);
  return tally_;
}

void AddressSpace::reset_accumulated() {
  const Lock lock(mutex_);
  for (Tally* tally : {&tally_.storages, &tally_.bytes, &tally_.requested}) tally->reset_accumulated();
}

void AddressSpace::reset_peak() {
  const Lock lock(mutex_);
  for (Tally* tally : {&tally_.storages, &tally_.bytes, &tally_.requested}) tally->reset_peak();
}

}  // namespace spyre::engine
