// spyre/device_sim/scheduler.cpp — submission, helping, workers, faults, deadlocks.
//
// No wake-up is lost. Flights become runnable when one is submitted or finished, under the lock. A
// thread that finishes one looks for the next itself, and wakes the waiters that sleep. Whenever a
// thread turns to a flight of its own, goes to sleep or leaves, it calls one worker if a runnable
// flight remains; the called worker does the same in turn.
#include "scheduler.h"

#include <algorithm>
#include <utility>

#include "spyre/base/error.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

/// One for each serial pipeline and one for each thread of the callback pool.
constexpr std::size_t kMaxWorkers = 7;

std::string describe(const Flight& flight) {
  return str('"', flight.operation.name.empty() ? name_of(flight.pipeline) : flight.operation.name,
             "\" (stream ", flight.point.stream, ", number ", flight.point.sequence, ')');
}

}  // namespace

Scheduler::Scheduler(const DeviceSpec& spec, Execute execute)
    : spec_(spec), execute_(std::move(execute)), clock_(spec) {}

Scheduler::~Scheduler() {
  drain_all();
  Lock lock(mutex_);
  stopping_ = true;
  work_available_.notify_all();
  std::vector<std::thread> workers = std::move(workers_);
  lock.unlock();
  for (std::thread& worker : workers) worker.join();
}

StreamId Scheduler::create_stream() {
  const Lock lock(mutex_);
  return queues_.add_stream();
}

TimelinePoint Scheduler::submit(StreamId stream, std::span<Operation> operations, Urgency urgency) {
  const Lock lock(mutex_);
  TimelinePoint last = queues_.last_point(stream);
  for (Operation& operation : operations) {
    const PipelineId pipeline = pipeline_of(operation);
    last = submit_locked(stream, std::move(operation), pipeline, urgency, {});
  }
  return last;
}

void Scheduler::join(StreamId stream, TimelinePoint point) {
  const Lock lock(mutex_);
  queues_.reached(point);  // rejects a point that was never submitted
  if (point.stream == stream) return;
  submit_locked(stream, {.name = "join"}, PipelineId::Join, Urgency::Waited, {point.modelled_ps});
  if (!queues_.reached(point)) queues_.add_dependence(stream, point);
}

TimelinePoint Scheduler::submit_locked(StreamId stream, Operation operation, PipelineId pipeline,
                                       Urgency urgency, Picoseconds not_before) {
  const Picoseconds ready{queues_.last_point(stream).modelled_ps};
  count(operation, pipeline);
  Flight& flight = queues_.push(stream, std::move(operation), pipeline, urgency);
  const ModelledSpan span = clock_.submit(flight.operation, pipeline, std::max(ready, not_before));
  const TimelinePoint point = queues_.set_modelled(flight, span);
  if (timeline_.on()) timeline_.add_modelled(flight);
  log(LogChannel::Stream, [&] { return str("submit ", describe(flight)); });
  log(LogChannel::Time, [&] {
    return str(describe(flight), " from ", span.start.count, " to ", span.end.count, " ps");
  });
  if (urgency == Urgency::Background) wake_worker();
  return point;
}

void Scheduler::count(const Operation& operation, PipelineId pipeline) {
  switch (pipeline) {
    case PipelineId::HostToDevice:
      count_transfer(operation, counters_.bytes_h2d,
                     std::get<HostToDevice>(operation.what).target.length);
      break;
    case PipelineId::DeviceToHost:
      count_transfer(operation, counters_.bytes_d2h,
                     std::get<DeviceToHost>(operation.what).source.length);
      break;
    case PipelineId::Compute: ++counters_.computes; break;
    case PipelineId::Callback: ++counters_.callbacks; break;
    case PipelineId::Join: break;
  }
}

void Scheduler::count_transfer(const Operation& operation, std::uint64_t& bytes, Bytes length) {
  bytes += length.count;
  ++counters_.transfers;
  log(LogChannel::Transfer, [&] { return str(operation.name, ' ', length); });
}

TimelinePoint Scheduler::last_point(StreamId stream) const {
  const Lock lock(mutex_);
  return queues_.last_point(stream);
}

bool Scheduler::reached(TimelinePoint point) {
  const Lock lock(mutex_);
  if (queues_.reached(point)) return true;
  queues_.promote(point);
  wake_worker();
  return false;
}

void Scheduler::synchronize(TimelinePoint point) {
  Lock lock(mutex_);
  queues_.reached(point);  // rejects a point that was never submitted
  clock_.synchronize({point.modelled_ps});
  wait(point, lock);
}

void Scheduler::synchronize_all() {
  Lock lock(mutex_);
  const std::vector<TimelinePoint> points = last_points();
  Picoseconds latest;
  for (const TimelinePoint& point : points)
    latest = std::max(latest, Picoseconds{point.modelled_ps});
  clock_.synchronize(latest);
  for (const TimelinePoint& point : points) wait(point, lock);
}

void Scheduler::drain(TimelinePoint point) {
  Lock lock(mutex_);
  wait(point, lock);
}

void Scheduler::drain_all() {
  Lock lock(mutex_);
  for (const TimelinePoint& point : last_points()) wait(point, lock);
}

std::vector<TimelinePoint> Scheduler::last_points() const {
  std::vector<TimelinePoint> points;
  points.reserve(queues_.stream_count());
  for (std::uint32_t stream = 0; stream < queues_.stream_count(); ++stream)
    points.push_back(queues_.last_point({stream}));
  return points;
}

void Scheduler::wait(TimelinePoint point, Lock& lock) {
  while (!queues_.reached(point)) {
    Flight& next = queues_.next_towards(point);
    if (next.running) {
      sleep_until_progress(next, lock);
    } else {
      run(next, lock);
    }
  }
  wake_worker();
}

void Scheduler::sleep_until_progress(Flight& running, Lock& lock) {
  wake_worker();
  check_deadlock(running);
  const auto mine = [self = std::this_thread::get_id()](const Flight* f) {
    return f->runner == self;
  };
  for (Flight* flight : queues_.running()) {
    if (!mine(flight)) continue;
    flight->waits_for = &running;
    flight->waits_for_point = running.point;
  }
  ++sleeping_waiters_;
  progress_.wait(lock);
  --sleeping_waiters_;
  for (Flight* flight : queues_.running()) {
    if (mine(flight)) flight->waits_for = nullptr;
  }
}

/// Follows who waits for whom from a running flight. Every wait was checked before it began, so a
/// cycle must close here.
void Scheduler::check_deadlock(const Flight& running) const {
  const std::thread::id self = std::this_thread::get_id();
  const Flight* flight = &running;
  while (flight != nullptr) {
    if (flight->runner == self)
      throw DeviceFault(str("deadlock: operation ", describe(*flight),
                            " waits for its own completion; it must not ",
                            "synchronize with its own stream or with one that comes after it"));
    const bool current = queues_.is_current(flight->waits_for, flight->waits_for_point);
    flight = current ? flight->waits_for : nullptr;
  }
}

// The analysis does not follow a lock that is passed by reference.
void Scheduler::run(Flight& flight, Lock& lock) SPYRE_NO_THREAD_SAFETY_ANALYSIS {
  const bool skip =
      queues_.fault(flight.point.stream) != nullptr || flight.pipeline == PipelineId::Join;
  Operation operation = queues_.start(flight);
  const bool observed = timeline_.on() && !skip;
  wake_worker();
  lock.unlock();
  const WallSpan begin = observed ? WallSpan::begin() : WallSpan{};
  std::exception_ptr fault;
  if (!skip) fault = execute(operation);
  const WallSpan span = observed ? begin.ended() : begin;
  std::string name = observed ? std::string(operation.name) : std::string();
  operation = {};  // what it kept alive goes before its point is reached, and outside the lock
  lock.lock();
  if (observed) timeline_.add_wall(flight, std::move(name), span);
  finish(flight, std::move(fault));
}

std::exception_ptr Scheduler::execute(const Operation& operation) {
  try {
    execute_(operation);
    return nullptr;
  } catch (...) { return std::current_exception(); }
}

void Scheduler::finish(Flight& flight, std::exception_ptr fault) {
  if (fault) {
    log(LogChannel::Stream, [&] {
      return str("fault in operation number ", flight.point.sequence, " of stream ",
                 flight.point.stream);
    });
    std::exception_ptr& first = queues_.fault(flight.point.stream);
    if (!first) first = std::move(fault);
  }
  finished_ = std::max(finished_, flight.modelled.end);
  queues_.retire(flight);
  if (sleeping_waiters_ != 0) progress_.notify_all();
}

std::exception_ptr Scheduler::take_fault(StreamId stream) {
  const Lock lock(mutex_);
  return std::exchange(queues_.fault(stream), nullptr);
}

void Scheduler::work() {
  Lock lock(mutex_);
  while (true) {
    worker_is_coming_ = false;
    Flight* next = queues_.queued_in_background() != 0 ? queues_.next_runnable() : nullptr;
    if (next != nullptr) {
      run(*next, lock);
    } else if (stopping_) {
      return;
    } else {
      ++idle_workers_;
      work_available_.wait(lock);
      --idle_workers_;
    }
  }
}

void Scheduler::wake_worker() {
  if (worker_is_coming_ || queues_.queued_in_background() == 0 ||
      queues_.next_runnable() == nullptr)
    return;
  if (idle_workers_ != 0) {
    work_available_.notify_one();
  } else if (workers_.size() < kMaxWorkers) {
    workers_.emplace_back([this] { work(); });
  } else {
    return;  // every worker is busy, and looks again when it is done
  }
  worker_is_coming_ = true;
}

CardCounters Scheduler::counters() const {
  const Lock lock(mutex_);
  CardCounters counters = counters_;
  counters.modelled_picoseconds = (finished_ - counters_since_).count;
  return counters;
}

void Scheduler::reset_counters() {
  const Lock lock(mutex_);
  counters_ = {};
  counters_since_ = finished_;
}

void Scheduler::record_timeline(bool on) {
  const Lock lock(mutex_);
  timeline_.record(on);
}

std::string Scheduler::timeline_json() const {
  const Lock lock(mutex_);
  return timeline_.json(spec_.profile);
}

std::size_t Scheduler::worker_count() const {
  const Lock lock(mutex_);
  return workers_.size();
}

}  // namespace spyre::device_sim
