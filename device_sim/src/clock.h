// spyre/device_sim/clock.h — when operations happen on the modelled card.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "picoseconds.h"
#include "pipeline.h"
#include "price.h"
#include "spyre/device_sim/device_spec.h"

namespace spyre::device_sim {

/// When one operation is submitted by the modelled host, and when the modelled card runs it.
struct ModelledSpan {
  Picoseconds submit{}, submitted{}, start{}, end{};
};

/// Off: nothing is priced, and every time is 0.
enum class ClockMode : std::uint8_t { Virtual, Anchored, Realtime, Off };
ClockMode clock_mode_of(const DeviceSpec& spec);

/// Prices operations as they are submitted. A pure function of the sequence of calls: execution is
/// never asked, so the same program has the same modelled timeline. The modelled host is one
/// thread; its time moves by a fixed cost per call, and to the awaited point when it synchronizes.
/// In the anchored modes it moves with this host instead, which anchor() is told. Hazards do not
/// delay modelled operations: a card has no such guard, programs order themselves by streams and
/// events. Confined to its owner's lock.
class Clock {
 public:
  explicit Clock(const DeviceSpec& spec);
  /// The same moment on another card.
  Clock(const Clock& moment, const DeviceSpec& spec);
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;

  /// `barrier`: behind all of the stream, or else behind its last join only. Never before `after`.
  ModelledSpan submit(StreamId stream, const Charge& charge, bool barrier = true,
                      Picoseconds after = {});
  /// Later operations of the stream start after `point`.
  ModelledSpan join(StreamId stream, Picoseconds point);
  /// The host waits for `point`.
  void synchronize(Picoseconds point);
  /// The host has been as far as `seen` elsewhere.
  void meet(Picoseconds seen) { host_ = std::max(host_, seen); }
  /// In the anchored modes: `wall` has passed on this host since the card started.
  void anchor(Picoseconds wall);

  /// When everything submitted to the stream so far is done.
  Picoseconds last(StreamId stream) const;
  /// The same for all streams.
  Picoseconds latest() const;
  Picoseconds host() const { return host_; }
  ClockMode mode() const { return mode_; }
  const DeviceSpec& spec() const { return *spec_; }

 private:
  struct Times {
    Picoseconds last, fence;
  };
  Times& times(StreamId stream);
  Picoseconds& free_at(PipelineId pipeline);
  Picoseconds call_cost(const Charge& charge) const;

  const DeviceSpec* spec_;
  ClockMode mode_;
  Picoseconds host_, waited_;
  std::vector<Times> streams_;
  std::array<Picoseconds, 3> serial_free_at_{};
  std::vector<Picoseconds> callback_free_at_;  // a pool: the first free thread takes the next
};

}  // namespace spyre::device_sim
