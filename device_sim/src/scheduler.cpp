// spyre/device_sim/scheduler.cpp — submission, helping, workers, faults, deadlocks.
//
// No wake-up is lost. Flights become runnable when one is submitted or finished, under the lock. A
// thread that finishes one looks for the next itself. Whenever a thread has turned to a flight, goes
// to sleep or leaves, it wakes the waiters that sleep if one of them has something to do: its point
// is reached, or nobody runs what that needs. And it calls one worker if a runnable flight remains;
// the called worker does the same in turn.
#include "scheduler.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "metering.h"
#include "spyre/base/error.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/patience.h"

namespace spyre::device_sim {
namespace {

/// One for each serial pipeline, besides those of the callback pool: callbacks that block leave
/// some for the pipelines.
constexpr std::size_t kPipelineWorkers = 3;

std::string describe(const Flight& flight) {
  return str('"', flight.operation.name.empty() ? name_of(flight.pipeline) : flight.operation.name,
             "\" (stream ", flight.point.stream, ", number ", flight.point.sequence, ')');
}

/// When another card lets the operation start. A receiver has its sender's time.
Picoseconds start_after_peer(const Operation& operation, const DeviceSpec& spec) {
  const PeerPoint* peer = awaited_peer(operation);
  if (peer == nullptr) return {};
  const Picoseconds point{peer->point.modelled_ps};
  return std::holds_alternative<Receive>(operation.what) ? point - price(operation, spec) : point;
}

[[noreturn]] void throw_deadlock(const Flight& flight, const std::vector<const Flight*>& through) {
  std::string chain;
  for (const Flight* other : through) chain += str(chain.empty() ? " " : ", ", describe(*other));
  throw DeviceFault(str("deadlock: operation ", describe(flight), " waits for its own completion",
                        chain.empty() ? "" : " through", chain,
                        "; it must not synchronize with its own stream or with one ",
                        "that comes after it"));
}

}  // namespace

Scheduler::Scheduler(const DeviceSpec& spec, Execute execute,
                     std::shared_ptr<const ModelledHost> host)
    : spec_(spec),
      execute_(std::move(execute)),
      host_(std::move(host)),
      queues_(static_cast<std::size_t>(spec.host_callback_workers)),
      clock_(spec) {}

Scheduler::~Scheduler() {
  drain_all();
  Lock lock(mutex_);
  stopping_ = true;
  work_available_.notify_all();
  std::vector<std::thread> workers = std::move(workers_);
  lock.unlock();
  for (std::thread& worker : workers) worker.join();
}

StreamId Scheduler::create_stream(int priority) {
  const Lock lock(mutex_);
  return queues_.add_stream(priority);
}

StreamId Scheduler::host_stream(std::uint32_t index) {
  const Lock lock(mutex_);
  return queues_.host_stream(index);
}

StreamState Scheduler::stream_state(StreamId stream) const {
  const Lock lock(mutex_);
  if (queues_.fault(stream)) return StreamState::Faulted;
  return queues_.idle(stream) ? StreamState::Idle : StreamState::Busy;
}

bool Scheduler::any_fault() const {
  const Lock lock(mutex_);
  for (const StreamId stream : queues_.streams())
    if (queues_.fault(stream)) return true;
  return false;
}

TimelinePoint Scheduler::submit(StreamId stream, std::span<Operation> operations, Urgency urgency) {
  const Lock lock(mutex_);
  TimelinePoint last = queues_.last_point(stream);
  meet_thread();
  for (Operation& operation : operations) {
    const PipelineId pipeline = pipeline_of(operation);
    last = submit_locked(stream, std::move(operation), pipeline, urgency);
  }
  host_->reach(clock_.host().count);
  return last;
}

void Scheduler::join(StreamId stream, TimelinePoint point) {
  const Lock lock(mutex_);
  queues_.reached(point);  // rejects a point that was never submitted
  if (point.stream == stream) return;
  Operation wait;
  wait.name = "join";
  wait.after.push_back(point);
  submit_locked(stream, std::move(wait), PipelineId::Join, Urgency::Waited);
}

Picoseconds Scheduler::anchor() {
  if (clock_.mode() == ClockMode::Virtual || clock_.mode() == ClockMode::Off) return {};
  const Picoseconds wall{picoseconds_of(WallSpan::Clock::now() - started_)};
  clock_.anchor(wall);
  return wall;
}

void Scheduler::meet_thread() {
  const Picoseconds seen{host_->now()};
  if (seen <= clock_.host()) return;
  clock_.meet(seen);
  if (timeline_.on()) timeline_.add_wait(RunEntry::Kind::Meet, {.modelled_ps = seen.count}, {});
}

ModelledSpan Scheduler::price(const Flight& flight, Picoseconds after_peer) {
  if (clock_.mode() == ClockMode::Off) {
    if (meters_ != nullptr) meter(*meters_, charge_of(flight.operation), {}, spec_);
    return {};
  }
  Picoseconds after = after_peer;
  for (const TimelinePoint& point : flight.operation.after)
    after = std::max(after, Picoseconds{point.modelled_ps});
  if (flight.pipeline == PipelineId::Join) return clock_.join(flight.point.stream, after);
  const Charge charge = charge_of(flight.operation);
  const ModelledSpan span =
      clock_.submit(flight.point.stream, charge, flight.operation.barrier, after);
  if (meters_ != nullptr) meter(*meters_, charge, span, spec_);
  return span;
}

TimelinePoint Scheduler::submit_locked(StreamId stream, Operation&& operation, PipelineId pipeline,
                                       Urgency urgency) {
  count(counters_, operation, pipeline);
  const WallSpan call = activities_.begin_call();
  Flight& flight = queues_.push(stream, std::move(operation), pipeline, urgency);
  const Picoseconds wall = anchor();
  const Picoseconds after_peer =
      clock_.mode() == ClockMode::Off ? Picoseconds{} : start_after_peer(flight.operation, spec_);
  const ModelledSpan span = price(flight, after_peer);
  const TimelinePoint point = queues_.set_modelled(flight, span, clock_.last(stream));
  if (timeline_.on()) timeline_.add_submission(flight, after_peer, wall);
  if (activities_.on()) activities_.add(flight, call.ended());
  log(LogChannel::Stream, [&] { return str("submit ", describe(flight)); });
  log(LogChannel::Time, [&] {
    return str(describe(flight), " from ", span.start.count, " to ", span.end.count, " ps");
  });
  if (urgency == Urgency::Background) call_others();
  return point;
}

TimelinePoint Scheduler::last_point(StreamId stream) const {
  const Lock lock(mutex_);
  return queues_.last_point(stream);
}

bool Scheduler::reached(TimelinePoint point) {
  const Lock lock(mutex_);
  if (queues_.reached(point)) return true;
  queues_.promote(point);
  call_others();
  return false;
}

bool Scheduler::finished(TimelinePoint point) const {
  const Lock lock(mutex_);
  return queues_.reached(point);
}

/// Follows who waits for whom from a running flight. Every wait was checked before it began, so a
/// cycle must close here. Only its members are sure to own the names they have.
void Scheduler::check_deadlock(const Flight& running) const {
  const std::thread::id self = std::this_thread::get_id();
  std::vector<const Flight*> chain;
  const Flight* flight = &running;
  while (flight != nullptr && flight->runner != self) {
    chain.push_back(flight);
    const bool current = queues_.is_current(flight->waits_for, flight->waits_for_point);
    flight = current ? flight->waits_for : nullptr;
  }
  if (flight != nullptr) throw_deadlock(*flight, chain);
}

// The analysis does not follow a lock that is passed by reference.
void Scheduler::run(Flight& flight, Lock& lock) SPYRE_NO_THREAD_SAFETY_ANALYSIS {
  if (std::exception_ptr poison = queues_.poison(flight)) queues_.set_fault(flight, poison);
  LossListener* const listener = flight.operation.listener;
  const bool lost = queues_.fault(flight.point.stream) != nullptr ||
                    (listener != nullptr && listener->calls_off(flight.operation.part));
  const bool skip = lost || flight.pipeline == PipelineId::Join;
  queues_.start(flight);
  const bool observed = timeline_.on() && !skip;
  call_others();
  lock.unlock();
  const WallSpan begin = observed ? WallSpan::begin() : WallSpan{};
  std::exception_ptr fault;
  if (!skip || awaited_peer(flight.operation) != nullptr) fault = execute(flight.operation, skip);
  if (listener != nullptr && (lost || fault != nullptr))
    listener->lost(flight.operation.part, fault);
  const WallSpan span = observed ? begin.ended() : begin;
  std::string name = observed ? std::string(flight.operation.name) : std::string();
  release(flight.operation);  // before its point is reached, and outside the lock
  lock.lock();
  if (observed) timeline_.add_wall(flight, std::move(name), span);
  finish(flight, std::move(fault));
}

std::exception_ptr Scheduler::execute(const Operation& operation, bool skipped) {
  try {
    // Also for what is skipped: its memory may be in the other card's hands until then.
    if (const PeerPoint* peer = awaited_peer(operation)) peer->card->drain_for_peer(peer->point);
    const Patience endless(nullptr);  // an operation that waits is not given up halfway
    if (!skipped) execute_(operation);
    return nullptr;
  } catch (...) { return std::current_exception(); }
}

void Scheduler::finish(Flight& flight, std::exception_ptr fault) {
  if (fault) {
    log(LogChannel::Stream, [&] {
      return str("fault in operation number ", flight.point.sequence, " of stream ",
                 flight.point.stream);
    });
    queues_.set_fault(flight, std::move(fault));
  }
  finished_ = std::max(finished_, flight.modelled.end);
  const StreamId stream = flight.point.stream;
  queues_.retire(flight);
  if (stream.value < watched_.size()) note_arrivals(stream);
}

std::exception_ptr Scheduler::take_fault(StreamId stream) {
  const Lock lock(mutex_);
  return queues_.take_fault(stream);
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
      call_others();
      ++idle_workers_;
      work_available_.wait(lock);
      --idle_workers_;
    }
  }
}

void Scheduler::call_others() {
  // NOLINTNEXTLINE(readability-use-anyofallof): the analysis of locks does not look into lambdas
  for (const Sleeper& sleeper : sleepers_) {
    if (!has_to_wake(sleeper)) continue;
    progress_.notify_all();
    break;
  }
  wake_worker();
}

void Scheduler::wake_worker() {
  if (worker_is_coming_ || queues_.queued_in_background() == 0 ||
      queues_.next_runnable() == nullptr)
    return;
  if (idle_workers_ != 0) {
    work_available_.notify_one();
  } else if (workers_.size() <
             kPipelineWorkers + static_cast<std::size_t>(spec_.host_callback_workers)) {
    workers_.emplace_back([this] { work(); });
  } else {
    return;  // every worker is busy, and looks again when it is done
  }
  worker_is_coming_ = true;
}

std::size_t Scheduler::worker_count() const {
  const Lock lock(mutex_);
  return workers_.size();
}

}  // namespace spyre::device_sim
