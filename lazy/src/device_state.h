// spyre/lazy/device_state.h — the insides of a device: card, planner, streams, counters, and the
// lock over them.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "buffer_pool.h"
#include "directives.h"
#include "planner.h"
#include "spyre/base/mutex.h"
#include "spyre/lazy/device.h"
#include "spyre/lazy/owner_ledger.h"
#include "stream_state.h"

namespace spyre::lazy {

/// Functions that take a Lock release it while they wait and hold it again when they return. Those
/// that do so themselves are not analysed: the analysis does not follow a lock handed down.
/// Members end in reverse order: streams give their memory back while the card still exists.
/// Internally synchronized.
struct Device::State {
  State(Device& device, device_sim::DeviceSpec spec,
        std::shared_ptr<const device_sim::ModelledHost> host, const Settings& settings);
  ~State();

  void add_stream(StreamId id) SPYRE_REQUIRES(mutex);
  /// add_stream for one that is not the first. Gives the lock up.
  StreamId open_stream(Lock& lock, StreamId id)
      SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  /// One to record on: of the card, or a capture. Throws InvalidArgument if there is none.
  StreamState& stream(StreamId id) SPYRE_REQUIRES(mutex);
  /// Null instead.
  StreamState* find_stream(StreamId id) SPYRE_REQUIRES(mutex);
  /// One to run on. Throws CaptureError for a capture, where nothing runs.
  StreamState& card_stream(StreamId id) SPYRE_REQUIRES(mutex);
  /// Null if there is no such capture.
  StreamState* capture(StreamId id) SPYRE_REQUIRES(mutex);

  /// With one outside owner.
  BufferRef new_buffer(Bytes size) SPYRE_REQUIRES(mutex) {
    owners.add(size);
    return BufferRef::adopt(buffers.take(size, directives.current()));
  }

  /// One more outside owner of a buffer that may have lost all others.
  BufferRef own(Buffer& buffer) SPYRE_REQUIRES(mutex) {
    if (!buffer.add_outside()) owners.add(buffer.size());
    return BufferRef::adopt(buffer);
  }

  // Recording.
  /// Before a buffer's first use in the stream's trace: another stream's pending use is flushed and
  /// waited for. False if the buffer is tiled: nothing is recorded on it itself.
  bool admit(Lock& lock, StreamState& s, Buffer& buffer, bool reads) SPYRE_REQUIRES(mutex);
  bool admit(Lock& lock, StreamState& s, std::span<const Input> inputs, Buffer& output)
      SPYRE_REQUIRES(mutex);
  /// To the trace. False, and nothing appended, if an operand is tiled.
  bool append(Lock& lock, StreamState& s, const Pointwise& op) SPYRE_REQUIRES(mutex);
  bool append(Lock& lock, StreamState& s, PreparedPointwise& op,
              std::span<const PreparedOperand> inputs, const PreparedOperand& output,
              std::uint32_t source) SPYRE_REQUIRES(mutex);
  /// After each node that is a unit by itself: counts, cuts a step or flushes at a limit; runs it if the mode is eager, or
  /// each node is waited for.
  void recorded(Lock& lock, StreamState& s) SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  /// After each node of a longer unit: the same, but no step is cut.
  void recorded_part(Lock& lock, StreamState& s)
      SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  /// After each unit: cuts the trace if a step has ended before it. True if it did.
  bool cut_if_step(Lock& lock, StreamState& s) SPYRE_REQUIRES(mutex);
  /// Whether nodes wait in the stream's trace to be launched together.
  bool gathers(const StreamState& s) const SPYRE_REQUIRES(mutex);
  void flush_at_limit(Lock& lock, StreamState& s) SPYRE_REQUIRES(mutex);
  /// A node that is not gathered: into a capture, or to the card at once.
  void keep_or_run(Lock& lock, StreamState& s)
      SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;

  // Capture and replay (capture.cpp).
  /// Where an upload runs. For a capture, whose replays do not repeat it, only into what is new.
  StreamState& upload_stream(StreamId id, Buffer& target) SPYRE_REQUIRES(mutex);
  /// The results of a capture can not be read before they are computed.
  void spoil_results(StreamState& s) SPYRE_REQUIRES(mutex);
  /// The graph owns what the trace reads from before it, and what can be seen of it, which gets memory.
  void hold_buffers(Lock& lock, CapturedGraph& graph, const Trace& trace) SPYRE_REQUIRES(mutex);
  /// The capture's trace becomes the next segment of its graph. Throws OutOfDeviceMemory; then the
  /// trace is lost, and so are its results.
  void close_segment(Lock& lock, StreamState& s) SPYRE_REQUIRES(mutex);
  /// Has every segment planned for the settings of now.
  void prepare(CapturedGraph& graph) SPYRE_REQUIRES(mutex);
  void replay_segment(Lock& lock, StreamState& s, CapturedGraph& graph, std::size_t index,
                      RandomShift random) SPYRE_REQUIRES(mutex);

  // Waiting.
  void wait(StreamState& s, device_sim::TimelinePoint point) SPYRE_EXCLUDES(mutex);
  /// The same for a transfer to or from memory that the caller takes back afterwards, also by an exception.
  void wait_for_transfer(StreamState& s, device_sim::TimelinePoint point) SPYRE_EXCLUDES(mutex);
  /// `point` may change while the lock is released: until what it then is has been waited for.
  void await_unless_awaited(Lock& lock, StreamState& s, const device_sim::TimelinePoint& point)
      SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;

  /// Everything submitted so far.
  void await_all(Lock& lock) SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;

  // Launching.
  void flush(Lock& lock, StreamState& s, FlushReason reason, device_sim::Urgency urgency)
      SPYRE_REQUIRES(mutex);
  /// Every stream's.
  void flush_all(Lock& lock, FlushReason reason, device_sim::Urgency urgency) SPYRE_REQUIRES(mutex);
  /// Launches the first `nodes` nodes of the trace; the others stay in it.
  void cut_step(Lock& lock, StreamState& s, std::size_t nodes) SPYRE_REQUIRES(mutex);
  /// Launches one trace, if there is one that is not empty.
  void launch_oldest(Lock& lock, StreamState& s, FlushReason reason, device_sim::Urgency urgency)
      SPYRE_REQUIRES(mutex);
  /// Flushes every trace that uses the buffer; `s` then comes after them.
  void flush_uses(Lock& lock, StreamState& s, Buffer& buffer, FlushReason reason,
                  device_sim::Urgency urgency) SPYRE_REQUIRES(mutex);
  /// Destroys what the caches evicted, without the lock.
  void drop_retired(Lock& lock) SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;
  /// The stream whose trace uses the buffer, or null.
  StreamState* pending_in(Buffer& buffer) SPYRE_REQUIRES(mutex);
  /// True if a recorded node that has not been launched writes the buffer.
  bool pending_writes(Buffer& buffer) SPYRE_REQUIRES(mutex);
  void launch(StreamState& s, Trace& trace, const std::shared_ptr<const LaunchPlan>& plan,
              device_sim::Urgency urgency) SPYRE_REQUIRES(mutex);
  /// Of a trace that is launched again, with these parameters.
  void launch(StreamState& s, const Trace& trace, std::vector<std::uint64_t> params,
              const std::shared_ptr<const LaunchPlan>& plan, device_sim::Urgency urgency)
      SPYRE_REQUIRES(mutex);
  /// Gives the trace's buffers their places in the stream's next flight. False if nothing has to run.
  bool place(StreamState& s, const Trace& trace, const std::shared_ptr<const LaunchPlan>& plan)
      SPYRE_REQUIRES(mutex);
  /// The operations of the stream's next flight, which has begun.
  void submit(StreamState& s, device_sim::Urgency urgency) SPYRE_REQUIRES(mutex);
  void count(const LaunchPlan& plan) SPYRE_REQUIRES(mutex);
  /// The trace cannot run: what it would have computed is spoiled.
  void abandon(Trace& trace, Spoiled why) SPYRE_REQUIRES(mutex);
  /// Drops the caches, lets everything finish, returns free pages. Moves no modelled clock.
  void relieve_memory(Lock& lock) SPYRE_REQUIRES(mutex) SPYRE_NO_THREAD_SAFETY_ANALYSIS;

  // Transfers.
  /// Takes memory from the card; where it is full, first relieves it, then also runs what is
  /// recorded, whose nodes retain buffers.
  device_sim::Allocation allocate(Lock& lock, const device_sim::AllocationRequest& request)
      SPYRE_REQUIRES(mutex);
  /// Gives the buffer memory if it has none; its bytes are zero unless `all_written` follows.
  void give_memory(Lock& lock, StreamState& s, Buffer& buffer, bool all_written,
                   device_sim::Urgency urgency) SPYRE_REQUIRES(mutex);
  /// Bounds the transfers in progress: may wait for the oldest.
  device_sim::TimelinePoint enqueue_transfer(Lock& lock, StreamState& s,
                                             device_sim::Operation operation,
                                             device_sim::Urgency urgency) SPYRE_REQUIRES(mutex);

  void send_arguments_ahead(StreamState& s, device_sim::Urgency urgency,
                            const std::shared_ptr<const void>& handle) SPYRE_REQUIRES(mutex);
  /// Raises the stream's fault, once.
  void raise_fault(StreamState& s) SPYRE_EXCLUDES(mutex);

  mutable Mutex mutex;
  device_sim::Card card;
  BufferPool buffers;  // taking is guarded by the lock, giving back is not
  OwnerLedger owners;  // likewise
  Directives directives SPYRE_GUARDED_BY(mutex);
  Planner planner SPYRE_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<StreamState>> streams SPYRE_GUARDED_BY(mutex);
  std::vector<StreamState*> stream_of SPYRE_GUARDED_BY(mutex);  // by StreamId; nullptr: none
  std::vector<std::unique_ptr<StreamState>> captures SPYRE_GUARDED_BY(mutex);  // used again
  std::vector<device_sim::Operation> operations SPYRE_GUARDED_BY(mutex);  // of one launch; scratch
  Stats counted SPYRE_GUARDED_BY(mutex);  // the fields that are counted here
  SourceText source_text SPYRE_GUARDED_BY(mutex);
  std::function<void()> memory_pressure SPYRE_GUARDED_BY(mutex);
  std::uint64_t memory_reliefs SPYRE_GUARDED_BY(mutex) = 0;
};

/// Throws Unsupported above kMaxRank.
void check_rank(std::size_t rank);

/// True if the caller of a flush with that reason waits for its results at once.
device_sim::Urgency urgency_of(FlushReason reason);

}  // namespace spyre::lazy
