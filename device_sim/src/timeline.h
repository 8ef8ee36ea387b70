// spyre/device_sim/timeline.h — records what happened when, in modelled and in wall time.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "queues.h"
#include "run_log.h"

namespace spyre::device_sim {

/// When a thread began and ended something. Wall time; no relation to modelled time.
struct WallSpan {
  using Clock = std::chrono::steady_clock;
  Clock::time_point from{}, to{};
  static WallSpan begin() { return {.from = Clock::now()}; }
  WallSpan ended() const { return {from, Clock::now()}; }
};
std::uint64_t picoseconds_of(WallSpan::Clock::duration duration);
/// What it transfers, or what it reads and writes of device memory.
std::uint64_t bytes_moved_by(const Operation& operation);

/// A row of wall time: one operation on the thread that ran it.
struct WallRow {
  std::string name = {};
  PipelineId pipeline{};
  TimelinePoint point = {};
  std::uint64_t correlation = 0, bytes = 0;
  std::uint64_t start_ps = 0, length_ps = 0;
};

/// Keeps the latest rows of each kind and counts what it dropped. Off until record(true). Observes,
/// never alters. Confined to its owner's lock.
class Timeline {
 public:
  static constexpr std::size_t kWallRows = 1 << 16;

  bool on() const { return on_; }
  /// Turning it on starts afresh, at the clock's moment.
  void record(bool on, const Clock& clock);
  void add_submission(const Flight& flight, Picoseconds after_peer, Picoseconds wall);
  void add_wait(RunEntry::Kind kind, TimelinePoint point, Picoseconds wall);
  void add_wall(const Flight& flight, std::string name, WallSpan span);

  /// For Chrome's trace viewer. Modelled rows come first and depend on the program alone.
  std::string json(const DeviceSpec& spec, const TraceOptions& options) const;
  /// What the modelled time went into, on `spec`.
  std::string report(const DeviceSpec& spec) const;

 private:
  bool on_ = false;
  WallSpan::Clock::time_point origin_{};
  std::optional<RunLog> log_;
  std::deque<WallRow> wall_;
  std::uint64_t wall_dropped_ = 0;
};

}  // namespace spyre::device_sim
