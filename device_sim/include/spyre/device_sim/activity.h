// spyre/device_sim/activity.h — what a profiler is told of an operation: when the card ran it, and who asked for it.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spyre/base/hash.h"
#include "spyre/base/ids.h"

namespace spyre::device_sim {

/// One operation, or one wait of this host. Modelled times are the card's, wall times are those of
/// the call that submitted or waited. A value.
struct Activity {
  enum class Kind : std::uint8_t {
    HostToDevice,
    DeviceToHost,
    Kernel,
    Fill,
    Callback,
    Wait,
    Send,
    Receive
  };
  using Time = std::chrono::steady_clock::time_point;

  Kind kind{};
  std::string name = {};
  Hash128 program = {};  // kernels: tells programs of one name apart
  StreamId stream = {};
  std::uint64_t correlation = 0;  // the launch that it belongs to; 0: none
  std::uint32_t step = 0;         // kernels and fills: which of the launch's
  std::uint32_t source = 0;       // what recorded it (Operation::source); 0: not known
  std::uint32_t caller = 0;       // what the submitting thread was at
  std::uint64_t bytes = 0;
  std::uint64_t queued_ps = 0, submitted_ps = 0, start_ps = 0, end_ps = 0;  // modelled
  Time called = {}, returned = {};                                          // wall
  std::int32_t thread = 0;  // the caller's, as the system numbers it
};

/// The activities between two moments, in the order of submission.
struct ActivityRecord {
  std::vector<Activity> activities = {};
  std::uint64_t begin_ps = 0;  // the modelled host when recording began
  Activity::Time begin = {};   // and this one
  std::uint64_t dropped = 0;   // activities that were too old to keep
};

/// Names what the calling thread is at, for Activity::caller. Called under the card's lock: it
/// waits for nothing.
using CallerName = std::function<std::uint32_t()>;

}  // namespace spyre::device_sim
