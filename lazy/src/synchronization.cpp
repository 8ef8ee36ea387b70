// spyre/lazy/synchronization.cpp — flushing on request, waiting, streams and events.
#include <algorithm>
#include <vector>

#include "device_state.h"

namespace spyre::lazy {

using device_sim::TimelinePoint;
using device_sim::Urgency;

void Device::flush(StreamId stream, FlushReason reason) {
  Lock lock(state_->mutex);
  state_->flush(lock, state_->card_stream(stream), reason, Urgency::Background);
}

void Device::synchronize(StreamId stream, FlushReason reason) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.card_stream(stream);
  d.flush(lock, s, reason, Urgency::Waited);
  const TimelinePoint point = d.card.last_point(stream);
  lock.unlock();
  d.wait(s, point);
  d.raise_fault(s);
}

void Device::synchronize_all(FlushReason reason) {
  State& d = *state_;
  std::vector<StreamState*> streams;
  Lock lock(d.mutex);
  d.flush_all(lock, reason, Urgency::Waited);
  for (const auto& s : d.streams) streams.push_back(s.get());
  d.await_all(lock);
  lock.unlock();
  for (StreamState* s : streams) d.raise_fault(*s);
}

StreamId Device::create_stream(int priority) {
  State& d = *state_;
  Lock lock(d.mutex);
  return d.open_stream(lock, d.card.create_stream(priority));
}

StreamId Device::host_stream(std::uint32_t index) {
  State& d = *state_;
  Lock lock(d.mutex);
  return d.open_stream(lock, d.card.host_stream(index));
}

bool Device::faulted(StreamId stream) const {
  State& d = *state_;
  const Lock lock(d.mutex);
  return d.card_stream(stream).faults.any();
}

bool Device::faulted() const {
  State& d = *state_;
  const Lock lock(d.mutex);
  return std::ranges::any_of(d.streams, [](const auto& s) { return s->faults.any(); });
}

TimelinePoint Device::record_event(StreamId stream) {
  State& d = *state_;
  Lock lock(d.mutex);
  d.flush(lock, d.card_stream(stream), FlushReason::Event, Urgency::Background);
  return d.card.last_point(stream);
}

void Device::wait_event(StreamId stream, TimelinePoint point) {
  State& d = *state_;
  Lock lock(d.mutex);
  if (point.stream == stream || d.card_stream(point.stream).has_awaited(point)) return;
  d.flush(lock, d.card_stream(stream), FlushReason::Event, Urgency::Background);
  d.card.wait_for(stream, point);
}

void Device::wait_event(StreamId stream, Device& peer, TimelinePoint point) {
  State &d = *state_, &p = *peer.state_;
  {
    const Lock lock(p.mutex);
    if (p.card_stream(point.stream).has_awaited(point)) return;
  }
  Lock lock(d.mutex);
  d.flush(lock, d.card_stream(stream), FlushReason::Event, Urgency::Background);
  d.card.wait_for(stream, device_sim::PeerPoint{&p.card, point});
}

bool Device::reached(TimelinePoint point) const { return state_->card.reached(point); }

void Device::synchronize(TimelinePoint point) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.card_stream(point.stream);
  lock.unlock();
  d.wait(s, point);
  d.raise_fault(s);
}

bool Device::idle(StreamId stream) const {
  State& d = *state_;
  const Lock lock(d.mutex);
  return d.card_stream(stream).empty() && d.card.reached(d.card.last_point(stream));
}

}  // namespace spyre::lazy
