// spyre/lazy/flush_reason.h — why a trace ended. Every flush has exactly one reason, and each is counted.
#pragma once
#include <cstdint>
#include <string_view>

namespace spyre::lazy {

enum class FlushReason : std::uint8_t {
  Item,            // a scalar is read (item, bool, printing)
  DeviceToHost,    // a copy to the host
  HostToDevice,    // the host overwrites memory that pending nodes use
  DeviceToDevice,  // a copy from or to another card
  Synchronize,     // synchronize of a stream or device
  Event,           // an event is recorded
  HostOp,          // an op runs on the host (fallback)
  DataDependent,   // a shape depends on data
  Step,            // the program starts over (see step_detector.h)
  NodeLimit,       // the trace is as long as it may get
  ByteLimit,       // the trace holds as much memory as it may
  MemoryPressure,  // the card is full: what pending nodes retain must go
  CrossStream,     // another stream uses a pending buffer
  Replay,          // a captured graph runs next
  EagerMode,       // SPYRE_MODE=eager: after each node
  Settings,        // mode or execution changes
  Shutdown,
};

inline constexpr std::size_t kFlushReasonCount =
    static_cast<std::size_t>(FlushReason::Shutdown) + 1;
std::string_view name_of(FlushReason reason);  // snake_case, as in stats()

}  // namespace spyre::lazy
