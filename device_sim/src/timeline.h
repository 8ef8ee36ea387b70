// spyre/device_sim/timeline.h — records what happened when, in modelled and in wall time, for
// Chrome's trace viewer.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "queues.h"

namespace spyre::device_sim {

/// When a thread began and ended something. Wall time; no relation to modelled time.
struct WallSpan {
  using Clock = std::chrono::steady_clock;
  Clock::time_point from{}, to{};
  static WallSpan begin() { return {.from = Clock::now()}; }
  WallSpan ended() const { return {from, Clock::now()}; }
};

/// Keeps the latest rows of each kind and counts what it dropped. Off until record(true). Observes,
/// never alters. Confined to its owner's lock.
class Timeline {
 public:
  static constexpr std::size_t kRows = 1 << 16;  // of each kind

  bool on() const { return on_; }
  /// Turning it on starts afresh.
  void record(bool on);
  void add_modelled(const Flight& flight);
  void add_wall(const Flight& flight, std::string name, WallSpan span);
  /// Modelled rows come first and depend on the program alone; one row a line.
  std::string json(std::string_view profile) const;

 private:
  struct Row {
    std::string name = {};
    unsigned lane = 0;
    TimelinePoint point = {};
    std::uint64_t correlation = 0, bytes = 0;
    std::uint64_t start_ps = 0, length_ps = 0;
  };
  struct Rows {
    std::deque<Row> kept;
    std::uint64_t dropped = 0;
    void add(Row row);
  };
  void print(std::string& out, const Rows& rows, unsigned process) const;

  bool on_ = false;
  WallSpan::Clock::time_point origin_{};
  Rows modelled_, wall_;
};

}  // namespace spyre::device_sim
