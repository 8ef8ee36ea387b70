// spyre/lazy/buffer_access.h — the fields of a buffer, for those in lazy/src who hold the device's
// lock.
#pragma once
#include "spyre/base/error.h"
#include "spyre/lazy/buffer.h"

namespace spyre::lazy {

struct BufferAccess {
  static std::uint64_t& trace_serial(Buffer& b) { return b.trace_serial_; }
  static std::uint32_t& trace_index(Buffer& b) { return b.trace_index_; }
  static device_sim::Allocation& memory(Buffer& b) { return b.memory_; }
  static std::unique_ptr<TiledContent>& tiled(Buffer& b) { return b.tiled_; }
  static bool has_memory(const Buffer& b) { return !b.memory_.empty(); }
  static std::uint16_t directive(const Buffer& b) { return b.directive_; }

  /// Any thread: the content will never be, or is about to be written as a whole.
  static void set_spoiled(Buffer& b, Spoiled why) {
    b.spoiled_.store(why, std::memory_order_release);
  }
  static Spoiled spoiled(const Buffer& b) { return b.spoiled_.load(std::memory_order_acquire); }
  static void raise_if_spoiled(const Buffer& b) {
    switch (spoiled(b)) {
      [[likely]] case Spoiled::No:
        return;
      case Spoiled::ByFault:
        throw DeviceFault("this tensor was never computed: an operation that it depends on failed");
      case Spoiled::ByMemory:
        throw OutOfDeviceMemory("this tensor was never computed: the card was full");
      case Spoiled::ByCapture:
        throw CaptureError(
            "this tensor was recorded into a graph and not computed yet; replay the graph first");
    }
  }

  /// Part of the buffer's memory. Precondition: it has memory.
  static device_sim::Piece piece(const Buffer& b, Bytes offset, Bytes length) {
    ensure(has_memory(b), "a buffer that operations use has memory");
    const device_sim::Piece& whole = b.memory_.place;
    return {whole.region, whole.offset + offset, length};
  }
};

}  // namespace spyre::lazy
