// spyre/device_sim/queues.cpp — FIFO queues, blockers, hazards.
#include "queues.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "hazard.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr std::size_t kUnusedFlights = 256;
constexpr std::uint32_t kHostStreams = 8;

}  // namespace

Queues::Queues(std::size_t callback_pool) : callback_pool_(callback_pool) { open_stream(0, 0); }

void Queues::refuse(StreamId stream) const {
  throw InvalidArgument(str("stream: no stream ", stream, "; this card has ", by_priority_.size()));
}

StreamId Queues::open_stream(std::uint32_t id, int priority) {
  if (streams_.size() <= id) streams_.resize(id + 1);
  streams_[id] = std::make_unique<Stream>();
  streams_[id]->last.stream = {id};
  streams_[id]->priority = priority;
  by_priority_.push_back(id);
  std::ranges::stable_sort(by_priority_, {},
                           [&](std::uint32_t i) { return streams_[i]->priority; });
  return {id};
}

StreamId Queues::add_stream(int priority) {
  const std::uint32_t first = priority < 0 ? kFirstHigh : kFirstNormal;
  const std::uint32_t end = priority < 0 ? kFirstHost : kFirstHigh;
  for (std::uint32_t id = first; id < end; ++id)
    if (!exists({id})) return open_stream(id, priority);
  return open_stream(std::max(kFirstOther, static_cast<std::uint32_t>(streams_.size())), priority);
}

StreamId Queues::host_stream(std::uint32_t index) {
  if (index >= kHostStreams)
    throw InvalidArgument(str("stream: no host stream ", index, "; there are ", kHostStreams));
  const std::uint32_t id = kFirstHost + index;
  return exists({id}) ? StreamId{id} : open_stream(id, 0);
}

std::vector<StreamId> Queues::streams() const {
  std::vector<StreamId> ids;
  for (std::uint32_t id = 0; id < streams_.size(); ++id)
    if (exists({id})) ids.push_back({id});
  return ids;
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

Flight& Queues::push(StreamId id, Operation&& operation, PipelineId pipeline, Urgency urgency) {
  Stream& stream = at(id);
  std::unique_ptr<Flight> owned = unused_flight();
  Flight& flight = *owned;
  flight.operation = std::move(operation);
  flight.pipeline = pipeline;
  flight.urgency = urgency;
  flight.point = {
      .stream = id, .sequence = stream.last.sequence + 1, .modelled_ps = stream.last.modelled_ps};
  for (const TimelinePoint& point : flight.operation.after)
    if (!reached(point)) flight.after.push_back(point);
  const bool overtakes = !flight.operation.barrier;
  if (overtakes || in_flight_ != stream.flights.size()) find_hazards(flight);
  stream.flights.push_back(std::move(owned));
  if (is_serial(pipeline)) serial_[static_cast<std::size_t>(pipeline)].push_back(&flight);
  stream.last = flight.point;
  if (overtakes) ++stream.overtakers;
  if (pipeline == PipelineId::Join) stream.fence = flight.point.sequence;
  ++in_flight_;
  if (urgency == Urgency::Background) ++queued_in_background_;
  return flight;
}

TimelinePoint Queues::set_modelled(Flight& flight, const ModelledSpan& span, Picoseconds reached) {
  flight.modelled = span;
  flight.point.modelled_ps = reached.count;
  return at(flight.point.stream).last = flight.point;
}

void Queues::find_hazards(Flight& flight) {
  for (const std::uint32_t id : by_priority_) find_hazards(flight, *streams_[id]);
}

void Queues::find_hazards(Flight& flight, const Stream& stream) {
  const bool own = stream.last.stream == flight.point.stream;
  if (own && flight.operation.barrier) return;
  if (own && stream.fence > stream.finished)
    flight.after.push_back({.stream = flight.point.stream, .sequence = stream.fence});
  for (const std::unique_ptr<Flight>& other : stream.flights | std::views::reverse) {
    const Flight& earlier = *other;
    if (earlier.done || (is_serial(flight.pipeline) && earlier.pipeline == flight.pipeline))
      continue;
    if (!conflict(flight.operation, earlier.operation)) continue;
    flight.after.push_back(earlier.point);
    return;  // the latest one: its stream has finished the earlier ones by then
  }
}

Flight* Queues::head(StreamId stream) const {
  const Stream& s = at(stream);
  return s.flights.empty() ? nullptr : s.flights.front().get();
}

Flight* Queues::blocker_in_stream(const Flight& flight, Flight*& running) const {
  const Stream& stream = at(flight.point.stream);
  for (const std::unique_ptr<Flight>& earlier : stream.flights) {
    if (earlier.get() == &flight) return nullptr;
    if (earlier->done) continue;
    if (!earlier->running) return earlier.get();
    running = earlier.get();
    if (stream.overtakers == 0) return nullptr;  // then only the first can run
  }
  return nullptr;
}

Flight* Queues::blocker(const Flight& flight) const {
  Flight* running = nullptr;
  const auto blocks = [&](Flight* candidate) {
    if (candidate == nullptr || candidate == &flight) return false;
    if (!candidate->running) return true;
    running = candidate;
    return false;
  };
  if (flight.operation.barrier)
    if (Flight* queued = blocker_in_stream(flight, running)) return queued;
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

bool Queues::may_start(const Flight& flight) const {
  if (flight.running || flight.done || blocker(flight) != nullptr) return false;
  return flight.pipeline != PipelineId::Callback || running_callbacks_ < callback_pool_;
}

Flight* Queues::next_runnable() {
  for (const std::uint32_t id : by_priority_) {
    const Stream& stream = *streams_[id];
    for (const std::unique_ptr<Flight>& flight : stream.flights) {
      if (may_start(*flight)) return flight.get();
      if (stream.overtakers == 0) break;  // then only the first can run
    }
  }
  return nullptr;
}

void Queues::start(Flight& flight) {
  flight.running = true;
  flight.runner = std::this_thread::get_id();
  running_.push_back(&flight);
  if (flight.urgency == Urgency::Background) --queued_in_background_;
  if (flight.pipeline == PipelineId::Callback) ++running_callbacks_;
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
  flight.running = false;
  flight.done = true;
  while (!stream.flights.empty() && stream.flights.front()->done) {
    std::unique_ptr<Flight> owned = std::move(stream.flights.front());
    stream.flights.pop_front();
    --in_flight_;
    stream.finished = owned->point.sequence;
    if (!owned->operation.barrier) --stream.overtakers;
    owned->done = false;
    owned->waits_for = nullptr;
    owned->after.clear();
    if (unused_.size() < kUnusedFlights) unused_.push_back(std::move(owned));
  }
}

void Queues::set_fault(const Flight& flight, std::exception_ptr fault) {
  Stream& stream = at(flight.point.stream);
  if (stream.fault) return;
  stream.fault = std::move(fault);
  stream.fault_at = flight.point.sequence;
}

std::exception_ptr Queues::take_fault(StreamId stream) {
  return std::exchange(at(stream).fault, nullptr);
}

std::exception_ptr Queues::poison(const Flight& flight) const {
  if (flight.pipeline != PipelineId::Join) return nullptr;
  for (const TimelinePoint& point : flight.operation.after) {
    if (point.stream == flight.point.stream) continue;
    if (std::exception_ptr fault = fault_at(point)) return fault;
  }
  return nullptr;
}

Flight* Queues::find(TimelinePoint point) {
  for (const std::unique_ptr<Flight>& flight : at(point.stream).flights)
    if (flight->point == point && !flight->done) return flight.get();
  return nullptr;
}

void Queues::promote(TimelinePoint point) {
  for (const std::unique_ptr<Flight>& flight : at(point.stream).flights) {
    if (flight->point.sequence > point.sequence) return;
    if (flight->running || flight->done || flight->urgency == Urgency::Background) continue;
    flight->urgency = Urgency::Background;
    ++queued_in_background_;
  }
}

}  // namespace spyre::device_sim
