// spyre/device_sim/scheduler_waits.cpp — waiting for points of the card: who waits helps.
#include <chrono>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "scheduler.h"
#include "spyre/device_sim/patience.h"

namespace spyre::device_sim {
namespace {

using HostCopy = std::shared_ptr<const std::vector<std::byte>>;

/// What the operation sends; nothing if it sends nothing.
std::span<const std::byte> sent_by(const Operation& operation) {
  const auto* up = std::get_if<HostToDevice>(&operation.what);
  if (up == nullptr || up->source == nullptr) return {};
  return {up->source, up->target.length.count};
}

/// Null if the host has no memory for it.
HostCopy copy_of(std::span<const std::byte> bytes) noexcept {
  try {
    return std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  } catch (const std::bad_alloc&) { return nullptr; }
}

/// A transfer that has not begun does without the host's memory: it sends `copy`, and drops what it
/// brings.
void detach_from_host(Operation& operation, HostCopy copy) {
  if (auto* up = std::get_if<HostToDevice>(&operation.what); up != nullptr && up->source) {
    up->source = copy->data();
    up->keep_alive = std::move(copy);
  } else if (auto* down = std::get_if<DeviceToHost>(&operation.what)) {
    down->target = nullptr;
  }
}

}  // namespace

std::shared_ptr<const Arrival> Scheduler::watch(TimelinePoint point) {
  auto arrival = std::make_shared<Arrival>();
  const Lock lock(mutex_);
  if (queues_.reached(point)) {
    arrival->note();
    return arrival;
  }
  if (point.stream.value >= watched_.size()) watched_.resize(point.stream.value + 1);
  WatchedStream& stream = watched_[point.stream.value];
  auto place = stream.end();  // most often: events are recorded in order
  while (place != stream.begin() && std::prev(place)->sequence > point.sequence) --place;
  stream.insert(place, {point.sequence, arrival});
  return arrival;
}

void Scheduler::note_arrivals(StreamId stream) {
  WatchedStream& watched = watched_[stream.value];
  while (!watched.empty() &&
         queues_.reached({.stream = stream, .sequence = watched.front().sequence})) {
    if (const std::shared_ptr<Arrival> arrival = watched.front().arrival.lock()) arrival->note();
    watched.pop_front();
  }
}

void Scheduler::synchronize_clock(RunEntry::Kind kind, TimelinePoint point) {
  meet_thread();
  const Picoseconds wall = anchor();
  const bool all = kind == RunEntry::Kind::SynchronizeAll;
  clock_.synchronize(all ? clock_.latest() : Picoseconds{point.modelled_ps});
  if (timeline_.on()) timeline_.add_wait(kind, point, wall);
  host_->reach(clock_.host().count);
}

void Scheduler::synchronize(TimelinePoint point) {
  Lock lock(mutex_);
  queues_.reached(point);  // rejects a point that was never submitted
  const WallSpan call = activities_.begin_call();
  synchronize_clock(RunEntry::Kind::Synchronize, point);
  wait_patiently(point, lock);
  sleep_until_modelled({point.modelled_ps}, lock);
  if (activities_.on()) activities_.add_wait(point.stream, call.ended());
}

void Scheduler::synchronize_all() {
  Lock lock(mutex_);
  const std::vector<TimelinePoint> points = last_points();
  const Picoseconds latest = clock_.latest();
  const WallSpan call = activities_.begin_call();
  synchronize_clock(RunEntry::Kind::SynchronizeAll, {});
  for (const TimelinePoint& point : points) wait_patiently(point, lock);
  sleep_until_modelled(latest, lock);
  if (activities_.on()) activities_.add_wait({}, call.ended());
}

void Scheduler::sleep_until_modelled(Picoseconds point,
                                     Lock& lock) SPYRE_NO_THREAD_SAFETY_ANALYSIS {
  if (clock_.mode() != ClockMode::Realtime) return;
  lock.unlock();
  std::this_thread::sleep_until(started_ + std::chrono::nanoseconds(point.count / 1000));
  lock.lock();
}

void Scheduler::drain(TimelinePoint point) {
  Lock lock(mutex_);
  wait(point, lock);
}

void Scheduler::detach(TimelinePoint point) SPYRE_NO_THREAD_SAFETY_ANALYSIS {
  Lock lock(mutex_);
  Flight* flight = queues_.find(point);
  if (flight == nullptr) return;
  if (flight->running) return wait(point, lock);
  const std::span<const std::byte> sent = sent_by(flight->operation);
  lock.unlock();  // the caller's memory stays until this returns
  HostCopy copy = copy_of(sent);
  lock.lock();
  flight = queues_.find(point);
  if (flight == nullptr) return;
  if (flight->running || copy == nullptr) return wait(point, lock);
  detach_from_host(flight->operation, std::move(copy));
}

void Scheduler::drain_all() {
  Lock lock(mutex_);
  for (const TimelinePoint& point : last_points()) wait(point, lock);
}

void Scheduler::drain_for_peer(TimelinePoint point) {
  Lock lock(mutex_);
  wait(point, lock);
  if (std::exception_ptr fault = queues_.fault_at(point)) std::rethrow_exception(fault);
}

std::vector<TimelinePoint> Scheduler::last_points() const {
  std::vector<TimelinePoint> points;
  for (const StreamId stream : queues_.streams()) points.push_back(queues_.last_point(stream));
  return points;
}

void Scheduler::wait(TimelinePoint point, Lock& lock) {
  const Patience endless(nullptr);
  while (!queues_.reached(point)) advance_towards(point, lock);
  call_others();
}

void Scheduler::wait_patiently(TimelinePoint point, Lock& lock) SPYRE_NO_THREAD_SAFETY_ANALYSIS {
  Patience::begin_wait();
  while (!queues_.reached(point)) {
    if (const Patience* const patience = Patience::due()) {
      call_others();
      lock.unlock();
      const bool gives_up = patience->gives_up();
      lock.lock();
      if (gives_up) {
        queues_.promote(point);
        call_others();
        throw WaitGivenUp("the wait for the card was given up; its work goes on",
                          [this, point] { detach(point); });
      }
    } else {
      advance_towards(point, lock);
    }
  }
  call_others();
}

void Scheduler::advance_towards(TimelinePoint point, Lock& lock) {
  Flight& next = queues_.next_towards(point);
  if (next.running) {
    sleep_until_progress(next, point, lock);
  } else {
    run(next, lock);
  }
}

bool Scheduler::has_to_wake(const Sleeper& sleeper) {
  return sleeper.inside_operation || queues_.reached(sleeper.point) ||
         !queues_.next_towards(sleeper.point).running ||
         (sleeper.patience != nullptr && sleeper.patience->is_due());
}

void Scheduler::sleep_until_progress(Flight& running, TimelinePoint point, Lock& lock) {
  call_others();
  check_deadlock(running);
  const std::thread::id self = std::this_thread::get_id();
  const auto mine = [self](const Flight* f) { return f->runner == self; };
  Sleeper sleeper{.thread = self, .point = point, .patience = Patience::current()};
  for (Flight* flight : queues_.running()) {
    if (!mine(flight)) continue;
    sleeper.inside_operation = true;
    flight->waits_for = &running;
    flight->waits_for_point = running.point;
  }
  sleepers_.push_back(sleeper);
  progress_.wait(lock);
  std::erase_if(sleepers_, [self](const Sleeper& s) { return s.thread == self; });
  for (Flight* flight : queues_.running()) {
    if (mine(flight)) flight->waits_for = nullptr;
  }
}

}  // namespace spyre::device_sim
