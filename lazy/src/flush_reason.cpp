// spyre/lazy/flush_reason.cpp — the names of flush reasons.
#include "spyre/lazy/flush_reason.h"

#include <array>

namespace spyre::lazy {

std::string_view name_of(FlushReason reason) {
  static constexpr std::array<std::string_view, kFlushReasonCount> kNames{
      "item",         "device_to_host", "host_to_device", "device_to_device",
      "synchronize",  "event",          "host_op",        "data_dependent",
      "step",         "node_limit",     "byte_limit",     "memory_pressure",
      "cross_stream", "replay",         "eager_mode",     "settings",
      "shutdown"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace spyre::lazy
