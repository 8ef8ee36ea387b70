// spyre/lazy/buffer.h — the device memory of one storage: promised, then real when a plan needs it.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "spyre/base/bytes.h"
#include "spyre/base/ids.h"
#include "spyre/device_sim/piece.h"

namespace spyre::lazy {

class Device;
class Tiled;
struct TiledContent;

/// Why a buffer's content never came to be. Whoever reads it gets an error.
enum class Spoiled : std::uint8_t { No, ByFault, ByMemory, ByCapture };

/// Reference counted. Two counts: outside owners (storages: they make the buffer's content
/// observable) and all references (traces and flights in progress included). Memory goes back to
/// the card when the last reference goes, from whichever thread; the object itself goes back to the
/// device's pool and serves again for a size of the same class. The device outlives its buffers.
/// The counts and `spoiled_` are atomic; everything else is guarded by the device's lock.
class Buffer {
 public:
  Buffer(Device& device, Bytes size);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Device& device() const { return device_; }
  Bytes size() const { return size_; }
  /// True if it stands for a tensor that another buffer holds in sticks: it has no memory, and is in
  /// no trace.
  bool is_tiled() const { return tiled_ != nullptr; }
  /// Null if it is not.
  const Tiled* tiled() const;
  /// The outside owner's own note; nothing here looks at it (engine: an address for sizes of this
  /// class). It stays when the buffer serves again.
  std::uintptr_t mark() const { return mark_; }
  void set_mark(std::uintptr_t mark) { mark_ = mark; }
  bool observable() const { return owners_.load(std::memory_order_acquire) >= kOutside; }

  void add_reference() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference();
  /// True if there was one already.
  bool add_outside() {
    return owners_.fetch_add(kOutside + 1, std::memory_order_relaxed) >= kOutside;
  }
  void drop_outside();

  /// Powers of two from 128 bytes on: 0, 1, …
  static std::size_t size_class(Bytes size) {
    return static_cast<std::size_t>(std::bit_width(std::max(size, kSmallestClass).count - 1)) -
           kSmallestShift;
  }
  static constexpr std::size_t kSmallestShift = 7, kClasses = 64 - kSmallestShift;

 private:
  ~Buffer();
  friend class Device;
  friend class BufferPool;
  friend struct BufferAccess;  // lazy/src: the trace's and the planner's view of the fields below
  static constexpr Bytes kSmallestClass{1ULL << kSmallestShift};
  static constexpr std::uint64_t kOutside = 1ULL << 32;  // one owner; below: all references

  /// True if it was the last one.
  bool release_reference() {
    // Whoever holds the only reference needs no exchange: nobody else can take one.
    return owners_.load(std::memory_order_acquire) == 1 ||
           owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  // One line of the cache holds what a flush looks at in each buffer of its trace, up to where
  // `memory_` is: by then Python and PyTorch have used most of the cache for themselves.
  alignas(64) std::atomic<std::uint64_t> owners_{0};
  Bytes size_;
  std::uint64_t trace_serial_ = 0;  // of the trace that used it last (Trace::serial); 0: none
  std::uint32_t trace_index_ = 0;   // position in that trace's buffer table
  std::atomic<Spoiled> spoiled_{Spoiled::No};
  std::uint16_t directive_ = 0;  // how it is to be placed, in the device's numbers
  Buffer* next_ = nullptr;       // in the pool
  device_sim::Allocation memory_;
  Device& device_;
  std::uintptr_t mark_ = 0;
  std::unique_ptr<TiledContent> tiled_;
};

/// An outside owner of a buffer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* buffer) : buffer_(buffer) {
    if (buffer_ != nullptr) buffer_->add_outside();
  }
  /// Takes over one outside count.
  static BufferRef adopt(Buffer& buffer) {
    BufferRef ref;
    ref.buffer_ = &buffer;
    return ref;
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef(const BufferRef& other) : BufferRef(other.buffer_) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr) buffer_->drop_outside();
  }
  Buffer* get() const { return buffer_; }
  /// The caller now owns one outside count.
  Buffer* release() { return std::exchange(buffer_, nullptr); }
  Buffer& operator*() const { return *buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace spyre::lazy
