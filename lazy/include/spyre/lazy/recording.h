// spyre/lazy/recording.h — operations that are recorded as one unit: a compiled kernel's, a reduction's steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "spyre/base/bytes.h"
#include "spyre/base/ids.h"
#include "spyre/base/mutex.h"
#include "spyre/lazy/buffer.h"
#include "spyre/lazy/prepared_pointwise.h"
#include "spyre/lazy/record.h"

namespace spyre::lazy {

class Device;
struct StreamState;

/// One unit of a stream's trace. The device's lock is held from the beginning to the end of it, and given up only where
/// something has to run; no step is cut in its midst, and it begins a new trace where the old one has no room for it.
/// Confined to one thread, which calls nothing else of the device meanwhile but may let go of buffers.
class Recording {
 public:
  /// `operations`: how many will be recorded, about.
  Recording(Device& device, StreamId stream,
            std::size_t operations) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // As the functions of Device with the same name.
  BufferRef create_buffer(Bytes size) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  void record(const Pointwise& op) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  void record(PreparedPointwise& op, std::span<const PreparedOperand> inputs,
              const PreparedOperand& output, std::uint32_t source) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  BufferRef record(PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                   std::uint32_t source);
  void record(const Reduce& op);

  /// The unit is complete; nothing more is recorded. Without it, after an exception, what was recorded stays.
  void finish() SPYRE_NO_THREAD_SAFETY_ANALYSIS;

 private:
  class Primitives;
  /// After each node.
  void added() SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  /// Without the lock, which the operation on images takes for itself.
  template <typename Body> void outside(const Body& body) SPYRE_NO_THREAD_SAFETY_ANALYSIS;

  Device& device_;
  Lock lock_;
  StreamState& stream_;
  std::uint64_t serial_ = 0;  // of the trace that has the unit's last node
  std::size_t end_ = 0;       // nodes of that trace up to it
};

}  // namespace spyre::lazy
