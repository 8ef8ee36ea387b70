// spyre/device_sim/clock.cpp — start is the latest of: submitted, stream ready, pipeline free.
#include "clock.h"

#include <algorithm>

namespace spyre::device_sim {

ClockMode clock_mode_of(const DeviceSpec& spec) {
  if (spec.clock == "anchored") return ClockMode::Anchored;
  if (spec.clock == "off") return ClockMode::Off;
  return spec.clock == "realtime" ? ClockMode::Realtime : ClockMode::Virtual;
}

Clock::Clock(const DeviceSpec& spec)
    : spec_(&spec),
      mode_(clock_mode_of(spec)),
      callback_free_at_(static_cast<std::size_t>(spec.host_callback_workers)) {}

Clock::Clock(const Clock& moment, const DeviceSpec& spec) : Clock(moment) {
  spec_ = &spec;
  callback_free_at_.resize(static_cast<std::size_t>(spec.host_callback_workers));
}

Clock::Times& Clock::times(StreamId stream) {
  if (stream.value >= streams_.size()) streams_.resize(stream.value + 1);
  return streams_[stream.value];
}

/// A call of this host has taken its time already if the clock is anchored to it.
Picoseconds Clock::call_cost(const Charge& charge) const {
  return mode_ == ClockMode::Virtual ? host_price(charge, *spec_) : Picoseconds{};
}

ModelledSpan Clock::submit(StreamId stream, const Charge& charge, bool barrier, Picoseconds after) {
  Times& of_stream = times(stream);
  ModelledSpan span{.submit = host_};
  host_ += call_cost(charge);
  span.submitted = host_;
  Picoseconds& unit = free_at(charge.pipeline);
  const Picoseconds ready = std::max(barrier ? of_stream.last : of_stream.fence, after);
  span.start = std::max({host_ + Picoseconds{spec_->submit_latency_ps}, ready, unit});
  span.end = span.start + price_of(charge, *spec_).total;
  unit = span.end;
  of_stream.last = std::max(of_stream.last, span.end);
  return span;
}

ModelledSpan Clock::join(StreamId stream, Picoseconds point) {
  Times& of_stream = times(stream);
  of_stream.last = of_stream.fence = std::max(of_stream.last, point);
  return {.submit = host_, .submitted = host_, .start = of_stream.last, .end = of_stream.last};
}

void Clock::synchronize(Picoseconds point) {
  if (mode_ == ClockMode::Anchored && point > host_) waited_ += point - host_;
  host_ = std::max(host_, point);
  if (mode_ == ClockMode::Virtual) host_ += Picoseconds{spec_->host_sync_ps};
}

void Clock::anchor(Picoseconds wall) {
  if (mode_ == ClockMode::Anchored || mode_ == ClockMode::Realtime)
    host_ = std::max(host_, wall + waited_);
}

Picoseconds Clock::last(StreamId stream) const {
  return stream.value < streams_.size() ? streams_[stream.value].last : Picoseconds{};
}

Picoseconds Clock::latest() const {
  Picoseconds latest;
  for (const Times& of_stream : streams_) latest = std::max(latest, of_stream.last);
  return latest;
}

Picoseconds& Clock::free_at(PipelineId pipeline) {
  if (is_serial(pipeline)) return serial_free_at_[static_cast<std::size_t>(pipeline)];
  return *std::ranges::min_element(callback_free_at_);
}

}  // namespace spyre::device_sim
