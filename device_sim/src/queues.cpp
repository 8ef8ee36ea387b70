// spyre/device_sim/queues.cpp — FIFO queues, blockers, hazards.
#include "queues.h"

#include <algorithm>
#include <ranges>

#include "hazard.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

/// Callbacks that workers run at once: the size of the host-callback pool. Fewer than there are
/// workers, so that callbacks which block leave some for the pipelines.
constexpr std::size_t kCallbackPool = 4;
constexpr std::size_t kUnusedFlights = 256;

}  // namespace

Queues::Stream& Queues::at(StreamId stream) {
  if (stream.value >= streams_.size())
    throw InvalidArgument(str("stream: no stream ", stream, "; this card has ", streams_.size()));
  return streams_[stream.value];
}

StreamId Queues::add_stream() {
  const StreamId id{static_cast<std::uint32_t>(streams_.size())};
  streams_.emplace_back().last.stream = id;
  return id;
}

bool Queues::reached(TimelinePoint point) const {
  if (point.sequence == 0) return true;
  const Stream& stream = at(point.stream);
  if (point.sequence > stream.last.sequence)
    throw InvalidArgument(str("event: point ", point.sequence, " of stream ", point.stream,
                              " was never submitted; the last one is ", stream.last.sequence));
  return point.sequence <= stream.finished;
}

std::unique_ptr<Flight> Queues::unused_flight() {
  if (unused_.empty()) return std::make_unique<Flight>();
  std::unique_ptr<Flight> flight = std::move(unused_.back());
  unused_.pop_back();
  return flight;
}

Flight& Queues::push(StreamId id, Operation operation, PipelineId pipeline, Urgency urgency) {
  Stream& stream = at(id);
  std::unique_ptr<Flight> owned = unused_flight();
  Flight& flight = *owned;
  flight.operation = std::move(operation);
  flight.pipeline = pipeline;
  flight.urgency = urgency;
  flight.point = {
      .stream = id, .sequence = stream.last.sequence + 1, .modelled_ps = stream.last.modelled_ps};
  if (in_flight_ != stream.flights.size()) find_hazards(flight);
  stream.flights.push_back(std::move(owned));
  if (is_serial(pipeline)) serial_[static_cast<std::size_t>(pipeline)].push_back(&flight);
  stream.last = flight.point;
  ++in_flight_;
  if (urgency == Urgency::Background) ++queued_in_background_;
  return flight;
}

void Queues::add_dependence(StreamId stream, TimelinePoint point) {
  at(stream).flights.back()->after.push_back(point);
}

TimelinePoint Queues::set_modelled(Flight& flight, const ModelledSpan& span) {
  flight.modelled = span;
  flight.point.modelled_ps = span.end.count;
  return at(flight.point.stream).last = flight.point;
}

void Queues::find_hazards(Flight& flight) {
  for (const Stream& stream : streams_) {
    if (stream.last.stream == flight.point.stream) continue;
    for (const std::unique_ptr<Flight>& other : stream.flights | std::views::reverse) {
      const Flight& earlier = *other;
      if (is_serial(flight.pipeline) && earlier.pipeline == flight.pipeline) continue;
      if (!conflict(flight.operation, earlier.operation)) continue;
      flight.after.push_back(earlier.point);
      break;  // the latest one: its stream has finished the earlier ones by then
    }
  }
}

Flight* Queues::head(StreamId stream) const {
  const Stream& s = at(stream);
  return s.flights.empty() ? nullptr : s.flights.front().get();
}

Flight* Queues::blocker(const Flight& flight) const {
  Flight* running = nullptr;
  const auto blocks = [&](Flight* candidate) {
    if (candidate == nullptr || candidate == &flight) return false;
    if (!candidate->running) return true;
    running = candidate;
    return false;
  };
  if (Flight* first = head(flight.point.stream); blocks(first)) return first;
  if (is_serial(flight.pipeline)) {
    Flight* first = serial_[static_cast<std::size_t>(flight.pipeline)].front();
    if (blocks(first)) return first;
  }
  for (const TimelinePoint& point : flight.after) {
    if (reached(point)) continue;
    if (Flight* first = head(point.stream); blocks(first)) return first;
  }
  return running;
}

Flight& Queues::next_towards(TimelinePoint point) {
  Flight* flight = head(point.stream);
  while (!flight->running) {
    Flight* before = blocker(*flight);
    if (before == nullptr) break;
    flight = before;
  }
  return *flight;
}

Flight* Queues::next_runnable() {
  for (const Stream& stream : streams_) {
    if (stream.flights.empty()) continue;
    Flight& first = *stream.flights.front();
    if (first.running || blocker(first) != nullptr) continue;
    if (first.pipeline == PipelineId::Callback && running_callbacks_ >= kCallbackPool) continue;
    return &first;
  }
  return nullptr;
}

Operation Queues::start(Flight& flight) {
  flight.running = true;
  flight.runner = std::this_thread::get_id();
  running_.push_back(&flight);
  if (flight.urgency == Urgency::Background) --queued_in_background_;
  if (flight.pipeline == PipelineId::Callback) ++running_callbacks_;
  Operation& operation = flight.operation;
  return {
      .what = std::move(operation.what),  // pieces are plain values: a move leaves them in place
      .name = operation.name,
      .footprint = {},
      .work = operation.work,
      .correlation = operation.correlation,
      .keep_alive = std::move(operation.keep_alive)};
}

bool Queues::is_current(const Flight* flight, TimelinePoint point) const {
  return std::ranges::any_of(running_,
                             [&](const Flight* f) { return f == flight && f->point == point; });
}

void Queues::retire(Flight& flight) {
  std::erase(running_, &flight);
  if (flight.pipeline == PipelineId::Callback) --running_callbacks_;
  if (is_serial(flight.pipeline)) serial_[static_cast<std::size_t>(flight.pipeline)].pop_front();
  Stream& stream = at(flight.point.stream);
  stream.finished = flight.point.sequence;
  std::unique_ptr<Flight> owned = std::move(stream.flights.front());
  stream.flights.pop_front();
  --in_flight_;
  owned->running = false;
  owned->waits_for = nullptr;
  owned->after.clear();
  if (unused_.size() < kUnusedFlights) unused_.push_back(std::move(owned));
}

void Queues::promote(TimelinePoint point) {
  for (const std::unique_ptr<Flight>& flight : at(point.stream).flights) {
    if (flight->point.sequence > point.sequence) return;
    if (flight->running || flight->urgency == Urgency::Background) continue;
    flight->urgency = Urgency::Background;
    ++queued_in_background_;
  }
}

}  // namespace spyre::device_sim
