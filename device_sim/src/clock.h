// spyre/device_sim/clock.h — when operations happen on the modelled card.
#pragma once
#include <array>

#include "picoseconds.h"
#include "pipeline.h"
#include "spyre/device_sim/device_spec.h"

namespace spyre::device_sim {

/// When one operation is submitted by the modelled host, and when the modelled card runs it.
struct ModelledSpan {
  Picoseconds submit{}, submitted{}, start{}, end{};
};

/// Prices operations as they are submitted. A pure function of the sequence of calls: execution is
/// never asked, so the same program has the same modelled timeline. The modelled host is one
/// thread; its time moves by a fixed cost per call, and to the awaited point when it synchronizes.
/// Hazards do not delay modelled operations: a card has no such guard, programs order themselves by
/// streams and events. Confined to its owner's lock.
class Clock {
 public:
  explicit Clock(const DeviceSpec& spec) : spec_(spec) {}

  /// `ready`: when the stream is free to start it.
  ModelledSpan submit(const Operation& operation, PipelineId pipeline, Picoseconds ready);
  /// The host waits for `point`.
  void synchronize(Picoseconds point);
  Picoseconds host() const { return host_; }

 private:
  Picoseconds& free_at(PipelineId pipeline);
  const DeviceSpec& spec_;
  Picoseconds host_;
  std::array<Picoseconds, 3> serial_free_at_{};
  std::array<Picoseconds, 4> callback_free_at_{};  // a pool: the first free thread takes the next
};

}  // namespace spyre::device_sim
