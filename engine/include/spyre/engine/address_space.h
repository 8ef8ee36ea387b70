// spyre/engine/address_space.h — the device addresses of storages: unique, ordered, closed to the host.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/base/mutex.h"
#include "spyre/lazy/buffer.h"

namespace spyre::engine {

/// Addresses inside one reservation without memory: whoever reads or writes through one faults at once. An address
/// belongs to one owner (a storage's buffer) at a time and is recycled by size class. Small buffers keep theirs from
/// storage to storage. Internally synchronized.
class AddressSpace {
 public:
  static constexpr Bytes kKept =
      64_KiB;  // above it there may be fewer addresses than buffers that a trace retains

  /// One of `shares` equal ones.
  explicit AddressSpace(std::size_t shares = 1);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// The first address of a range of at least `size` bytes; 0 for none. Throws OutOfDeviceMemory.
  std::uintptr_t take(Bytes size, void* owner) SPYRE_EXCLUDES(mutex_);
  void give_back(std::uintptr_t address, Bytes size) SPYRE_EXCLUDES(mutex_);
  /// Whose range starts at `address`; null if none does.
  void* owner_of(std::uintptr_t address) const SPYRE_EXCLUDES(mutex_);
  bool holds(std::uintptr_t address) const {
    return address >= begin_ && address < begin_ + length_;
  }

 private:
  /// The ranges of one size, in an equal part of the reservation: slot i starts at its i-th multiple.
  struct SizeClass {
    std::vector<void*> owners;        // by slot; null: free
    std::vector<std::uint32_t> free;  // slots to hand out again, latest first
  };
  static constexpr std::size_t kSmallest =
      lazy::Buffer::kSmallestShift;  // 128 bytes, and up by powers of two
  static constexpr std::size_t kClasses = 32;
  static std::size_t class_of(Bytes size) { return lazy::Buffer::size_class(size); }
  std::uint64_t part() const { return length_ / kClasses; }
  /// The first address of a class's part.
  std::uintptr_t start_of(std::size_t size_class) const { return begin_ + size_class * part(); }

  std::uintptr_t begin_ = 0;
  std::uint64_t length_ = 0;
  mutable Mutex mutex_;
  std::array<SizeClass, kClasses> classes_ SPYRE_GUARDED_BY(mutex_);
};

}  // namespace spyre::engine
