// spyre/device_sim/arrival.h — when a point of a stream was reached, in this host's time.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>

namespace spyre::device_sim {

/// Wall time has no relation to modelled time: it says how long the simulation took. Noted once,
/// by the card; read by any thread.
class Arrival {
 public:
  using Clock = std::chrono::steady_clock;
  void note() { when_.store(Clock::now().time_since_epoch().count(), std::memory_order_release); }
  /// Nothing before the point is reached.
  std::optional<Clock::time_point> when() const {
    const Clock::rep ticks = when_.load(std::memory_order_acquire);
    if (ticks == kNotYet) return std::nullopt;
    return Clock::time_point(Clock::duration(ticks));
  }

 private:
  static constexpr Clock::rep kNotYet = 0;
  std::atomic<Clock::rep> when_{kNotYet};
};

}  // namespace spyre::device_sim
