// spyre/device_sim/queues.h — what is in flight, in which order, and what must run before what.
#pragma once
#include <array>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "clock.h"
#include "pipeline.h"
#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

/// An operation between submission and completion. Lives in its stream's queue; guarded by the
/// scheduler's lock.
struct Flight {
  Operation operation;
  TimelinePoint point;
  PipelineId pipeline{};
  Urgency urgency{};
  ModelledSpan modelled;
  std::vector<TimelinePoint> after;  // points of other streams that must be reached first

  bool running = false;
  std::thread::id runner;  // while running
  // What the runner sleeps for, if it synchronizes inside the operation. The point tells whether
  // *waits_for is still the same flight.
  Flight* waits_for = nullptr;
  TimelinePoint waits_for_point;
};

/// Every stream is a FIFO; every serial pipeline is one as well. A flight may run when it heads
/// both and all points it comes after are reached. All edges lead to earlier submissions, so there
/// is always a flight that may run. Confined to its owner's lock.
class Queues {
 public:
  Queues() { add_stream(); }

  StreamId add_stream();
  std::size_t stream_count() const { return streams_.size(); }
  TimelinePoint last_point(StreamId stream) const { return at(stream).last; }
  /// Throws InvalidArgument for a point that was never submitted.
  bool reached(TimelinePoint point) const;

  /// Appends to the stream; finds the hazards against other streams' flights on other pipelines.
  Flight& push(StreamId stream, Operation operation, PipelineId pipeline, Urgency urgency);
  /// The newest flight of the stream also comes after `point`.
  void add_dependence(StreamId stream, TimelinePoint point);
  /// When the newest flight of a stream ends on the modelled card; completes its point.
  TimelinePoint set_modelled(Flight& flight, const ModelledSpan& span);
  /// The flight has run: its point is reached, its memory is reused.
  void retire(Flight& flight);

  /// The next flight on the way to an unreached `point`: it may run, or else it is running.
  Flight& next_towards(TimelinePoint point);
  /// Any flight that may run, for a worker; nullptr: none.
  Flight* next_runnable();
  /// The flight begins. What it runs and keeps alive goes to the caller; its pieces and footprint
  /// stay for hazards.
  Operation start(Flight& flight);
  bool is_current(const Flight* flight, TimelinePoint point) const;
  const std::vector<Flight*>& running() const { return running_; }

  /// Flights that a worker has to care for.
  std::size_t queued_in_background() const { return queued_in_background_; }
  /// Everything up to `point` on its stream becomes Background.
  void promote(TimelinePoint point);

  std::exception_ptr& fault(StreamId stream) { return at(stream).fault; }

 private:
  struct Stream {
    std::deque<std::unique_ptr<Flight>> flights;
    TimelinePoint last;  // submitted
    std::uint64_t finished = 0;
    std::exception_ptr fault;
  };
  Stream& at(StreamId stream);
  const Stream& at(StreamId stream) const { return const_cast<Queues*>(this)->at(stream); }
  Flight* head(StreamId stream) const;
  /// Something unfinished that must come before; queued rather than running. nullptr: none.
  Flight* blocker(const Flight& flight) const;
  void find_hazards(Flight& flight);
  std::unique_ptr<Flight> unused_flight();

  std::deque<Stream> streams_;
  std::array<std::deque<Flight*>, 3> serial_;  // by PipelineId
  std::vector<Flight*> running_;
  std::vector<std::unique_ptr<Flight>> unused_;
  std::size_t in_flight_ = 0, queued_in_background_ = 0, running_callbacks_ = 0;
};

}  // namespace spyre::device_sim
