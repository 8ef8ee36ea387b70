// spyre/device_sim/activity_log.h — keeps activities for a profiler while one asks.
#pragma once
#include <deque>

#include "queues.h"
#include "spyre/device_sim/activity.h"
#include "timeline.h"

namespace spyre::device_sim {

/// Keeps the latest activities and counts what it dropped. Off until begin(). Observes, never
/// alters. Confined to its owner's lock.
class ActivityLog {
 public:
  static constexpr std::size_t kActivities = 1 << 17;

  bool on() const { return on_; }
  /// From empty. `host`: the modelled host's time.
  void begin(CallerName caller, Picoseconds host);
  /// What was recorded; the log is off and empty then.
  ActivityRecord take();
  /// For add(): when a call began, if that is asked.
  WallSpan begin_call() const { return on_ ? WallSpan::begin() : WallSpan{}; }
  /// A submission that took `call` on this thread.
  void add(const Flight& flight, WallSpan call);
  void add_wait(StreamId stream, WallSpan call);

 private:
  void keep(Activity activity, WallSpan call);
  std::uint32_t step_of(const Flight& flight);

  bool on_ = false;
  CallerName caller_;
  std::deque<Activity> activities_;
  ActivityRecord record_;  // without its activities
  TimelinePoint launch_;   // whose steps are being counted: the sequence is its correlation
  std::uint32_t steps_ = 0;
};

}  // namespace spyre::device_sim
