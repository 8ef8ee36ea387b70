// spyre/engine/address_space.cpp — size classes over a reservation that is never backed by memory.
//
// Addresses cost nothing, so sizes are rounded up to a power of two, each class has an equal part of the reservation,
// and freed ranges wait in a list per class: taking and giving back are a pop and a push, and an address tells its
// class and slot, by which its owner is found.
#include "spyre/engine/address_space.h"

#include <sys/mman.h>

#include <bit>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::engine {
namespace {

constexpr Bytes kWanted = 8192_GiB, kLeast = 8_GiB;  // as little as valgrind leaves

}  // namespace

AddressSpace::AddressSpace(std::size_t shares) {
  for (std::uint64_t length = std::bit_floor(kWanted.count / shares); length >= kLeast.count;
       length /= 2) {
    void* start =
        mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) continue;
    begin_ = reinterpret_cast<std::uintptr_t>(start);
    length_ = length;
    return;
  }
  throw OutOfDeviceMemory(
      str("device addresses: could not reserve even ", kLeast, " of address space"));
}

AddressSpace::~AddressSpace() { munmap(reinterpret_cast<void*>(begin_), length_); }

std::uintptr_t AddressSpace::take(Bytes size, void* owner) {
  if (size.count == 0) return 0;
  const std::size_t index = class_of(size);
  const Lock lock(mutex_);
  SizeClass* size_class = index < kClasses ? &classes_[index] : nullptr;
  const std::uint64_t length = std::uint64_t{1} << (index + kSmallest);
  if (size_class == nullptr ||
      (size_class->free.empty() && (size_class->owners.size() + 1) * length > part())) {
    throw OutOfDeviceMemory(
        str("device addresses: asked for ", size, "; none of that size are left"));
  }
  if (size_class->free.empty()) {
    size_class->free.push_back(static_cast<std::uint32_t>(size_class->owners.size()));
    size_class->owners.push_back(nullptr);
  }
  const std::uint32_t slot = size_class->free.back();
  size_class->free.pop_back();
  size_class->owners[slot] = owner;
  return start_of(index) + slot * length;
}

void AddressSpace::give_back(std::uintptr_t address, Bytes size) {
  if (address == 0) return;
  const std::size_t index = class_of(size);
  const auto slot = static_cast<std::uint32_t>((address - start_of(index)) >> (index + kSmallest));
  const Lock lock(mutex_);
  classes_[index].owners[slot] = nullptr;
  classes_[index].free.push_back(slot);
}

void* AddressSpace::owner_of(std::uintptr_t address) const {
  if (!holds(address)) return nullptr;
  const std::size_t index = (address - begin_) / part();
  const std::uint64_t within = address - start_of(index),
                      length = std::uint64_t{1} << (index + kSmallest);
  const Lock lock(mutex_);
  const auto& owners = classes_[index].owners;
  return within % length == 0 && within / length < owners.size() ? owners[within / length]
                                                                 : nullptr;
}

}  // namespace spyre::engine
