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
  std::vector<TimelinePoint> after;  // points that must be reached first, hazards included

  bool running = false, done = false;
  std::thread::id runner;  // while running
  // What the runner sleeps for, if it synchronizes inside the operation. The point tells whether
  // *waits_for is still the same flight.
  Flight* waits_for = nullptr;
  TimelinePoint waits_for_point;
};

/// Every stream is a FIFO; every serial pipeline is one as well. A flight may run when it heads
/// both and all points it comes after are reached; one without a barrier need not head its stream.
/// All edges lead to earlier submissions, so there is always a flight that may run. Confined to its
/// owner's lock.
class Queues {
 public:
  /// Ids: 0 the default stream, then two pools, then the host's streams, then all others.
  static constexpr std::uint32_t kFirstNormal = 1, kFirstHigh = 33, kFirstHost = 65,
                                 kFirstOther = 73;

  explicit Queues(std::size_t callback_pool = 4);

  StreamId add_stream(int priority);
  /// The stream of the host's worker number `index` (0 to 7).
  StreamId host_stream(std::uint32_t index);
  bool exists(StreamId stream) const {
    return stream.value < streams_.size() && streams_[stream.value] != nullptr;
  }
  int priority(StreamId stream) const { return at(stream).priority; }
  bool idle(StreamId stream) const { return at(stream).flights.empty(); }
  std::vector<StreamId> streams() const;
  TimelinePoint last_point(StreamId stream) const { return at(stream).last; }
  /// Throws InvalidArgument for a point that was never submitted.
  bool reached(TimelinePoint point) const;
  /// What has to finish for the point to be reached; nullptr: it has.
  Flight* find(TimelinePoint point);

  /// Appends to the stream; finds the hazards against flights on other pipelines that it could
  /// overtake.
  Flight& push(StreamId stream, Operation&& operation, PipelineId pipeline, Urgency urgency);
  /// When the newest flight of a stream runs on the modelled card, and when its point is reached.
  TimelinePoint set_modelled(Flight& flight, const ModelledSpan& span, Picoseconds reached);
  /// The flight has run: its point is reached, its memory is reused.
  void retire(Flight& flight);

  /// The next flight on the way to an unreached `point`: it may run, or else it is running.
  Flight& next_towards(TimelinePoint point);
  /// Any flight that may run, for a worker; nullptr: none.
  Flight* next_runnable();
  void start(Flight& flight);
  bool is_current(const Flight* flight, TimelinePoint point) const;
  const std::vector<Flight*>& running() const { return running_; }

  /// Flights that a worker has to care for.
  std::size_t queued_in_background() const { return queued_in_background_; }
  /// Everything up to `point` on its stream becomes Background.
  void promote(TimelinePoint point);

  /// The stream's first fault that nobody has taken.
  std::exception_ptr fault(StreamId stream) const { return at(stream).fault; }
  void set_fault(const Flight& flight, std::exception_ptr fault);
  std::exception_ptr take_fault(StreamId stream);
  /// The fault that a stream had when it got to a point.
  std::exception_ptr fault_at(TimelinePoint point) const {
    const Stream& stream = at(point.stream);
    return stream.fault && stream.fault_at <= point.sequence ? stream.fault : nullptr;
  }
  /// The fault of another stream that the flight waits for: an event that failed.
  std::exception_ptr poison(const Flight& flight) const;

 private:
  struct Stream {
    std::deque<std::unique_ptr<Flight>> flights;
    TimelinePoint last;  // submitted
    std::uint64_t finished = 0;
    std::uint64_t fence = 0;     // the last join
    std::size_t overtakers = 0;  // flights in the queue without a barrier
    std::exception_ptr fault;
    std::uint64_t fault_at = 0;
    int priority = 0;
  };
  StreamId open_stream(std::uint32_t id, int priority);
  Stream& at(StreamId stream) {
    if (!exists(stream)) refuse(stream);
    return *streams_[stream.value];
  }
  const Stream& at(StreamId stream) const { return const_cast<Queues*>(this)->at(stream); }
  [[noreturn]] void refuse(StreamId stream) const;
  Flight* head(StreamId stream) const;
  /// Something unfinished that must come before; queued rather than running. nullptr: none.
  Flight* blocker(const Flight& flight) const;
  Flight* blocker_in_stream(const Flight& flight, Flight*& running) const;
  bool may_start(const Flight& flight) const;
  void find_hazards(Flight& flight);
  void find_hazards(Flight& flight, const Stream& stream);
  std::unique_ptr<Flight> unused_flight();

  std::size_t callback_pool_;
  std::vector<std::unique_ptr<Stream>> streams_;  // by id; nullptr: none
  std::vector<std::uint32_t> by_priority_;        // the ids that do
  std::array<std::deque<Flight*>, 3> serial_;     // by PipelineId
  std::vector<Flight*> running_;
  std::vector<std::unique_ptr<Flight>> unused_;
  std::size_t in_flight_ = 0, queued_in_background_ = 0, running_callbacks_ = 0;
};

}  // namespace spyre::device_sim
