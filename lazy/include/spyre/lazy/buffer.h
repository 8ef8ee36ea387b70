// spyre/lazy/buffer.h — the device memory of one storage: promised, then real when a plan needs it.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

#include "spyre/base/bytes.h"
#include "spyre/base/ids.h"
#include "spyre/device_sim/piece.h"

namespace spyre::lazy {

class Device;

/// Why a buffer's content never came to be. Whoever reads it gets an error.
enum class Spoiled : std::uint8_t { No, ByFault, ByMemory };

/// Reference counted. Two counts: `outside` owners (storages: they make the buffer's content
/// observable) and all references (traces and flights in progress included). Memory goes back to
/// the card when the last reference goes, from whichever thread. The device outlives its buffers.
/// The counts and `spoiled_` are atomic; everything else is guarded by the device's lock.
class Buffer {
 public:
  Buffer(Device& device, Bytes size) : device_(device), size_(size) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Device& device() const { return device_; }
  Bytes size() const { return size_; }
  /// The outside owner's own note; nothing here looks at it (engine: the storage's address).
  std::uintptr_t mark() const { return mark_; }
  void set_mark(std::uintptr_t mark) { mark_ = mark; }
  bool observable() const { return outside_.load(std::memory_order_acquire) != 0; }

  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference();
  void add_outside() {
    outside_.fetch_add(1, std::memory_order_relaxed);
    add_reference();
  }
  void drop_outside() {
    outside_.fetch_sub(1, std::memory_order_acq_rel);
    drop_reference();
  }

 private:
  friend class Device;
  friend struct BufferAccess;  // lazy/src: the trace's and the planner's view of the fields below
  Device& device_;
  Bytes size_;
  std::uintptr_t mark_ = 0;
  std::atomic<std::uint32_t> references_{0}, outside_{0};
  device_sim::Allocation memory_;
  std::uint32_t trace_index_ = 0;   // position in the buffer table of the trace that used it last
  std::uint64_t trace_serial_ = 0;  // which trace that is (Trace::serial); 0: none
  std::atomic<Spoiled> spoiled_{Spoiled::No};
};

/// An outside owner of a buffer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* buffer) : buffer_(buffer) {
    if (buffer_ != nullptr) buffer_->add_outside();
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
