// spyre/device_sim/card.h — the simulated card. The only door to device_sim.
#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spyre/device_sim/activity.h"
#include "spyre/device_sim/arrival.h"
#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/fault_injection.h"
#include "spyre/device_sim/memory.h"
#include "spyre/device_sim/meters.h"
#include "spyre/device_sim/modelled_host.h"
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {

struct CardCounters {
  std::uint64_t bytes_h2d = 0, bytes_d2h = 0;
  std::uint64_t bytes_from_peers = 0, bytes_to_peers = 0;
  std::uint64_t computes = 0, transfers = 0, callbacks = 0;
  std::uint64_t modelled_picoseconds = 0;  // when the last finished operation ends
};

/// How the submitting thread expects to learn of completion.
enum class Urgency : std::uint8_t {
  Waited,      // the caller will wait at once and drain the queue itself: wake no worker
  Background,  // a worker thread should run it
};

/// What a stream is doing. Faulted: it skips operations until the fault is taken.
enum class StreamState : std::uint8_t { Idle, Busy, Faulted };

/// Operations of one stream in order, to be enqueued again and again. What they keep alive stays
/// alive with the sequence. Immutable once captured.
struct CapturedSequence {
  std::vector<Operation> operations;
};

struct TraceOptions {
  bool core_lanes = false;  // one lane per core, beside those of the pipelines
};

/// A card. Internally synchronized. Worker threads start with the first Background submission or
/// callback, and end with the card, which first drains its queues.
class Card {
 public:
  /// Cards of one machine have one host.
  explicit Card(DeviceSpec spec, std::shared_ptr<const ModelledHost> host = nullptr);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const DeviceSpec& spec() const;

  // Memory. Sizes are rounded up to 128-byte blocks; nothing is handed out for nothing. Throws
  // OutOfDeviceMemory (requested, free, largest block, region map) once waiting for deferred frees
  // and the exhaustion handler have not helped.
  Allocation allocate(Bytes size);
  Allocation allocate(const AllocationRequest& request);
  void free(const Allocation& allocation);  // the caller knows that nothing in flight uses it
  /// Frees when the points are reached: what streams have been given may still use it.
  void free_after(Allocation allocation, std::vector<TimelinePoint> points);
  void on_exhaustion(ExhaustionHandler handler);
  /// The host address of a place, for operations that run on the card. Never handed to users.
  std::byte* address(const Piece& place) const;
  // Of a piece of an allocation:
  LogicalAddress logical_address(const Piece& piece) const;
  std::uint16_t domain_of(const Piece& piece) const;
  /// How many memory domains there are.
  std::uint16_t domains() const;
  MemoryStats memory_stats() const;
  /// All of it: every region, in order of address.
  MemorySnapshot memory_snapshot() const;
  void reset_peak_memory();
  void reset_memory_totals();
  /// Returns free pages to the system; the address ranges stay. Number of bytes given back.
  Bytes trim();

  // Streams are FIFO sequences of operations; stream 0 exists from the start.
  // Ids: 1 to 32 for priority 0, 33 to 64 for a negative one (a higher priority), 65 to 72 for the
  // host's workers, 73 and more when a pool is used up. Workers take operations of higher priority
  // first; the modelled pipelines stay in the order of submission, for a price is final at once.
  StreamId create_stream(int priority = 0);
  /// The stream of a host worker, 0 to 7; the same one each time.
  StreamId host_stream(std::uint32_t worker);
  StreamState stream_state(StreamId stream) const;
  /// Whether some stream is Faulted.
  bool any_fault() const;
  TimelinePoint enqueue(StreamId stream, Operation&& operation, Urgency urgency);
  /// Several at once, in order: the same, for less. The last one's point; `operations` are moved from.
  TimelinePoint enqueue(StreamId stream, std::span<Operation> operations, Urgency urgency);
  /// Later operations of `stream` start after `point` is reached. If the point's stream is faulted
  /// then, so is this one.
  void wait_for(StreamId stream, TimelinePoint point);
  /// The same for a point of another card, whose waits lead to earlier submissions only as well.
  void wait_for(StreamId stream, PeerPoint point);
  TimelinePoint last_point(StreamId stream) const;
  // Capture. Operations of a captured stream are kept instead of run; their points are reached at
  // once. It must not be waited for, nor wait for others.
  void begin_capture(StreamId stream);
  std::shared_ptr<const CapturedSequence> end_capture(StreamId stream);
  /// Enqueues the sequence in one call of the modelled host.
  TimelinePoint replay(StreamId stream, const CapturedSequence& sequence, Urgency urgency);
  /// Never blocks. Workers see to a point that is not reached, so that asking in a loop ends.
  bool reached(TimelinePoint point) const;
  /// Blocks until reached; the caller helps: it drains the pipelines itself. Does not throw faults
  /// of operations; an operation that waits for itself gets a DeviceFault. Moves the modelled host
  /// to the point, so whether it is called must not depend on wall time; where it does, drain.
  void synchronize(TimelinePoint point);
  void synchronize_all();
  /// As synchronize, but the modelled host does not wait: for back-pressure and memory pressure,
  /// where wall time decides whether to call.
  void drain(TimelinePoint point);
  void drain_all();
  /// For another card's operation: drains, and throws the fault that the point's stream had by then.
  void drain_for_peer(TimelinePoint point);

  /// The first fault since the last take, and forgets it: the stream is usable again. After a fault
  /// the stream's later operations are skipped until it is taken.
  std::exception_ptr take_fault(StreamId stream);

  // Clock. Modelled picoseconds since the card started, known as soon as the point is submitted.
  std::uint64_t modelled_time(TimelinePoint point) const;
  /// Notes when the point is reached on this host; now, if it has been. For as long as it is held.
  std::shared_ptr<const Arrival> watch(TimelinePoint point);
  /// False with the clock "off": asking for times, timelines and activities is an error then.
  bool models_time() const;
  CardCounters counters() const;
  void reset_counters();

  /// Timeline of both times as Chrome trace events; recording is off until enabled.
  void record_timeline(bool on);
  std::string timeline_json(const TraceOptions& options = {}) const;
  /// What the recorded run spent its modelled time on, as JSON: pipelines, kernels, roofline.
  std::string report_json() const;
  /// The same run on another card: priced again, not run again. Its division over cores is
  /// planned anew if the number of cores differs.
  std::string report_json(const DeviceSpec& what_if) const;

  /// Makes operations and allocations fail on request. An allocation that fails finds no memory,
  /// whatever is done about it.
  FaultInjector& fault_injector();

  /// From here on the card counts in `meters`, which outlive it, as well.
  void publish(Meters& meters);

  /// Records activities for a profiler, from empty. Beside the timeline, which is not touched.
  void record_activities(CallerName caller);
  /// What was recorded; recording ends.
  ActivityRecord take_activities();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spyre::device_sim
