// spyre/device_sim/scheduler.h — runs what is in flight, on waiting threads or on workers.
#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "activity_log.h"
#include "queues.h"
#include "spyre/base/mutex.h"
#include "spyre/device_sim/card.h"
#include "spyre/device_sim/meters.h"
#include "spyre/device_sim/patience.h"
#include "timeline.h"

namespace spyre::device_sim {

/// Whoever waits helps: a waiting thread runs what its point needs, and sleeps only while another
/// thread runs it. Workers exist for operations that nobody waits for; one starts when such an
/// operation can run and no worker is idle. Operations run without the lock. Internally
/// synchronized.
class Scheduler {
 public:
  /// Runs one operation; what it throws becomes the stream's fault.
  using Execute = std::function<void(const Operation&)>;

  Scheduler(const DeviceSpec& spec, Execute execute,
            std::shared_ptr<const ModelledHost> host = std::make_shared<ModelledHost>());
  /// Drains the queues; then the workers end.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  StreamId create_stream(int priority = 0) SPYRE_EXCLUDES(mutex_);
  StreamId host_stream(std::uint32_t index) SPYRE_EXCLUDES(mutex_);
  StreamState stream_state(StreamId stream) const SPYRE_EXCLUDES(mutex_);
  bool any_fault() const SPYRE_EXCLUDES(mutex_);
  TimelinePoint submit(StreamId stream, Operation&& operation, Urgency urgency)
      SPYRE_EXCLUDES(mutex_) {
    return submit(stream, std::span(&operation, 1), urgency);
  }
  /// In order. The last one's point; `operations` are moved from.
  TimelinePoint submit(StreamId stream, std::span<Operation> operations, Urgency urgency)
      SPYRE_EXCLUDES(mutex_);
  /// Later operations of `stream` come after `point`.
  void join(StreamId stream, TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  TimelinePoint last_point(StreamId stream) const SPYRE_EXCLUDES(mutex_);
  /// Never blocks. Who asks in a loop must get there: what is missing becomes Background.
  bool reached(TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  /// The same without asking anyone to run what is missing.
  bool finished(TimelinePoint point) const SPYRE_EXCLUDES(mutex_);
  std::shared_ptr<const Arrival> watch(TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  /// Throws DeviceFault if this thread runs the very operation that it waits for.
  void synchronize(TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  void synchronize_all() SPYRE_EXCLUDES(mutex_);
  /// The same without the modelled host.
  void drain(TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  void drain_all() SPYRE_EXCLUDES(mutex_);
  /// See WaitGivenUp.
  void detach(TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  /// And throws the fault that the point's stream had by then.
  void drain_for_peer(TimelinePoint point) SPYRE_EXCLUDES(mutex_);
  std::exception_ptr take_fault(StreamId stream) SPYRE_EXCLUDES(mutex_);

  CardCounters counters() const SPYRE_EXCLUDES(mutex_);
  void reset_counters() SPYRE_EXCLUDES(mutex_);
  void record_timeline(bool on) SPYRE_EXCLUDES(mutex_);
  std::string timeline_json(const TraceOptions& options) const SPYRE_EXCLUDES(mutex_);
  std::string report_json(const DeviceSpec& spec) const SPYRE_EXCLUDES(mutex_);
  void record_activities(CallerName caller) SPYRE_EXCLUDES(mutex_);
  ActivityRecord take_activities() SPYRE_EXCLUDES(mutex_);
  void publish(Meters& meters) SPYRE_EXCLUDES(mutex_);
  std::size_t worker_count() const SPYRE_EXCLUDES(mutex_);

 private:
  TimelinePoint submit_locked(StreamId stream, Operation&& operation, PipelineId pipeline,
                              Urgency urgency) SPYRE_REQUIRES(mutex_);
  /// Tells the clock how far this host is, if it wants to know; how far that is.
  Picoseconds anchor() SPYRE_REQUIRES(mutex_);
  /// The modelled host is at least as far as the calling thread has been with other cards.
  void meet_thread() SPYRE_REQUIRES(mutex_);
  ModelledSpan price(const Flight& flight, Picoseconds after_peer) SPYRE_REQUIRES(mutex_);
  void synchronize_clock(RunEntry::Kind kind, TimelinePoint point) SPYRE_REQUIRES(mutex_);
  void sleep_until_modelled(Picoseconds point, Lock& lock) SPYRE_REQUIRES(mutex_);
  std::vector<TimelinePoint> last_points() const SPYRE_REQUIRES(mutex_);
  void wait(TimelinePoint point, Lock& lock) SPYRE_REQUIRES(mutex_);
  /// The same, but this thread's Patience may end it.
  void wait_patiently(TimelinePoint point, Lock& lock) SPYRE_REQUIRES(mutex_);
  /// Runs what the point needs next, or sleeps until another thread has.
  void advance_towards(TimelinePoint point, Lock& lock) SPYRE_REQUIRES(mutex_);
  void sleep_until_progress(Flight& running, TimelinePoint point, Lock& lock)
      SPYRE_REQUIRES(mutex_);
  void check_deadlock(const Flight& running) const SPYRE_REQUIRES(mutex_);
  /// Releases the lock while the operation runs.
  void run(Flight& flight, Lock& lock) SPYRE_REQUIRES(mutex_);
  /// Waits for what another card has to do first. `skipped`: then runs nothing.
  std::exception_ptr execute(const Operation& operation, bool skipped) SPYRE_EXCLUDES(mutex_);
  void finish(Flight& flight, std::exception_ptr fault) SPYRE_REQUIRES(mutex_);
  /// Of the stream, which has got further.
  void note_arrivals(StreamId stream) SPYRE_REQUIRES(mutex_);
  void work() SPYRE_EXCLUDES(mutex_);
  /// Called whenever this thread may leave something to others: when it has turned to a flight,
  /// goes to sleep or leaves.
  void call_others() SPYRE_REQUIRES(mutex_);
  void wake_worker() SPYRE_REQUIRES(mutex_);

  const DeviceSpec& spec_;
  const Execute execute_;
  const std::shared_ptr<const ModelledHost> host_;
  const WallSpan::Clock::time_point started_ = WallSpan::Clock::now();
  mutable Mutex mutex_;
  Condition progress_, work_available_;
  Queues queues_ SPYRE_GUARDED_BY(mutex_);
  Clock clock_ SPYRE_GUARDED_BY(mutex_);
  Timeline timeline_ SPYRE_GUARDED_BY(mutex_);
  ActivityLog activities_ SPYRE_GUARDED_BY(mutex_);
  struct Watched {
    std::uint64_t sequence = 0;
    std::weak_ptr<Arrival> arrival;
  };
  using WatchedStream = std::deque<Watched>;  // in the order of their points
  /// Points that are not reached, by stream.
  std::vector<WatchedStream> watched_ SPYRE_GUARDED_BY(mutex_);
  CardCounters counters_ SPYRE_GUARDED_BY(mutex_);
  Meters* meters_ SPYRE_GUARDED_BY(mutex_) = nullptr;
  Picoseconds finished_ SPYRE_GUARDED_BY(mutex_), counters_since_ SPYRE_GUARDED_BY(mutex_);
  /// A thread that waits while another one runs what its point needs.
  struct Sleeper {
    std::thread::id thread;
    TimelinePoint point;
    const Patience* patience = nullptr;
    bool inside_operation =
        false;  // others find deadlocks by what it waits for: it keeps that true
  };
  bool has_to_wake(const Sleeper& sleeper) SPYRE_REQUIRES(mutex_);
  std::vector<Sleeper> sleepers_ SPYRE_GUARDED_BY(mutex_);
  std::size_t idle_workers_ SPYRE_GUARDED_BY(mutex_) = 0;
  bool worker_is_coming_ SPYRE_GUARDED_BY(mutex_) =
      false;  // woken or started, and has not looked yet
  bool stopping_ SPYRE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_ SPYRE_GUARDED_BY(mutex_);
};

}  // namespace spyre::device_sim
