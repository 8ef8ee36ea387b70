// spyre/lazy/device.h — a card with traces in front of it: the only door from engine/ into lazy/.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spyre/device_sim/card.h"
#include "spyre/kernels/kernel_cache.h"
#include "spyre/kernels/numerics.h"
#include "spyre/lazy/buffer.h"
#include "spyre/lazy/flush_reason.h"
#include "spyre/lazy/miss_cause.h"
#include "spyre/lazy/owner_ledger.h"
#include "spyre/lazy/prepared_pointwise.h"
#include "spyre/lazy/record.h"
#include "spyre/lazy/tiled.h"

namespace spyre::lazy {

enum class Mode : std::uint8_t { Lazy, Eager };

struct Settings {
  Mode mode = Mode::Lazy;
  kernels::Execution execution = kernels::Execution::Vector;
  kernels::Isa isa = kernels::Isa::Avx2;
  kernels::Numerics numerics = kernels::Numerics::Ieee;
  std::uint32_t max_nodes = 4096;    // nodes per trace
  Bytes max_pending = {1ULL << 30};  // bytes that a trace's new buffers may add up to
  Bytes plan_cache = {64ULL << 20}, kernel_cache = {64ULL << 20};
  std::string passes;          // "-fuse_rows,-duplicates": switched off (SPYRE_PASSES)
  bool verify = false;         // check the graph after every pass
  bool sync = false;           // run each node and raise its fault before record() returns
  std::string dump_directory;  // SPYRE_DUMP; empty: off
  friend bool operator==(const Settings&, const Settings&) = default;
};

struct Stats {
  std::uint64_t dispatches = 0;  // nodes recorded (engine adds the ops that it counts itself)
  std::array<std::uint64_t, kFlushReasonCount> flushes{};
  kernels::CacheCounts plan_cache, kernel_cache, library_cache;
  std::uint64_t plans_predicted = 0;  // hits that needed no hash: the plan that came next before
  std::uint64_t buffers_made = 0;     // buffer objects that were allocated, not taken from the pool
  /// By cause; their sum is plan_cache.misses.
  std::array<std::uint64_t, kMissCauseCount> plan_misses{};
  std::uint64_t kernels_compiled = 0, compile_ns = 0, kernel_launches = 0, library_launches = 0;
  // Counted per launch: nodes that went into kernels, and those that share one with another node.
  std::uint64_t ops_planned = 0, ops_fused = 0;
  std::uint64_t dead_ops = 0, duplicate_ops = 0;
  std::uint64_t graph_replays = 0;
  std::uint64_t relayouts = 0;  // copies on the card between sticks and ordinary strides
  device_sim::CardCounters card;
  device_sim::MemoryStats memory;
};

class CapturedGraph;

/// What random numbers of a replay are made from where the capture had `captured_seed`: another
/// seed, and offsets that are so much greater. Numbers from other seeds stay what they were.
struct RandomShift {
  std::uint64_t captured_seed = 0, seed = 0, offset = 0;
};

/// Bytes of a buffer, from `offset` on.
struct BufferPart {
  Buffer& buffer;
  Bytes offset = {};
};

/// Operations are recorded into the trace of their stream and run at a flush. Internally
/// synchronized: one lock per device, held for recording and submission, never while waiting.
class Device {
 public:
  /// Devices of one machine have one host.
  Device(device_sim::DeviceSpec spec, Settings settings,
         std::shared_ptr<const device_sim::ModelledHost> host = nullptr);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// A buffer with one outside owner and no memory yet.
  BufferRef create_buffer(Bytes size);
  /// One that stands for a tensor in sticks. It is used like any other, as if it held the image.
  BufferRef create_buffer(Tiled tiled);
  /// From here on buffers that this thread makes are placed by `directive`; the previous one. Those
  /// that never leave a launch have no place of their own. Throws InvalidArgument if the card cannot
  /// follow it.
  device_sim::Directive exchange_directive(const device_sim::Directive& directive);
  /// Where the buffer is on the card, in order. Flushes what is recorded on it, and gives it memory.
  std::vector<device_sim::Piece> pieces_of(StreamId stream, Buffer& buffer);
  /// What outside owners hold and held. Bytes are promised: memory follows when a plan needs it.
  OwnedTally owned() const;
  void reset_owned_peak();
  void reset_owned_totals();
  /// Called under the device's lock when a buffer with a mark ends for good, with its size then.
  void set_mark_end(std::function<void(std::uintptr_t mark, Bytes size)> end);

  // Recording. The caller has checked shapes and types. May flush (limits, eager mode, cross-stream
  // use). A sticky fault of the stream is not raised here but at the next synchronizing call.
  void record(StreamId stream, const Pointwise& op);
  /// The same for an operation that was prepared from such a description.
  void record(StreamId stream, PreparedPointwise& op, std::span<const PreparedOperand> inputs,
              const PreparedOperand& output, std::uint32_t source);
  /// With a new buffer as its output, dense and with one outside owner.
  BufferRef record(StreamId stream, PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                   std::uint32_t source);
  void record(StreamId stream, const Reduce& op);
  void record(StreamId stream, const Library& op);

  // Contiguous byte transfers. Blocking ones return when `source` may be reused / `target` is
  // filled, and raise the stream's fault. Non-blocking ones keep `keep_alive` until done.
  void upload(StreamId stream, Buffer& target, Bytes offset, const std::byte* source, Bytes length,
              bool blocking, std::shared_ptr<const void> keep_alive = nullptr);
  void download(StreamId stream, Buffer& source, Bytes offset, std::byte* target, Bytes length,
                FlushReason reason, bool blocking = true,
                std::shared_ptr<const void> keep_alive = nullptr);

  /// Copies to a buffer of another device, in order on both streams; waits for neither. A fault that
  /// the source's content depends on goes over to the other stream, and is raised there instead.
  void copy_to_peer(StreamId stream, BufferPart source, StreamId peer_stream, BufferPart target,
                    Bytes length);

  /// Flushes, waits, gives memory, and returns the host address of the buffer's bytes, for code
  /// that runs on the host (fallback). Valid until the buffer is next used by an operation.
  std::byte* host_address(StreamId stream, Buffer& buffer, FlushReason reason);
  /// What such code would have cost with a card at hand: a transfer to the host, which waits for
  /// it, and one back. Nothing moves.
  void price_host_work(StreamId stream, Bytes to_host, Bytes to_device);

  void flush(StreamId stream, FlushReason reason);
  /// Flushes and waits; raises the stream's sticky fault, once.
  void synchronize(StreamId stream, FlushReason reason = FlushReason::Synchronize);
  void synchronize_all(FlushReason reason = FlushReason::Synchronize);

  StreamId create_stream(int priority = 0);
  /// The stream of the host's worker `index` (0 to 7), which the card keeps for launches too.
  StreamId host_stream(std::uint32_t index);
  /// Whether the stream, or any, holds a fault that nobody has been told of. Waits for nothing.
  bool faulted(StreamId stream) const;
  bool faulted() const;
  device_sim::TimelinePoint record_event(StreamId stream);
  void wait_event(StreamId stream, device_sim::TimelinePoint point);
  /// The same for a point of another device.
  void wait_event(StreamId stream, Device& peer, device_sim::TimelinePoint point);
  bool reached(device_sim::TimelinePoint point) const;
  /// Waits for a recorded point; raises the fault of its stream.
  void synchronize(device_sim::TimelinePoint point);
  bool idle(StreamId stream) const;  // nothing pending in trace or queue

  // Capture and replay. What is recorded on a capture's stream is kept and not run; whatever would
  // have to run there throws CaptureError and leaves the capture as it is. So does recording on
  // another stream what the capture uses.
  /// The capture's stream, for one thread. The little that must run meanwhile runs on `origin`:
  /// uploads into tensors without content, which are constants of the graph.
  StreamId begin_capture(StreamId origin);
  /// Ends it. What it would have computed is unknown, and reading it an error, until the first
  /// replay.
  std::unique_ptr<CapturedGraph> end_capture(StreamId capture);
  /// Ends it without a graph.
  void drop_capture(StreamId capture);
  /// Compiles what the first replay would.
  void prepare(CapturedGraph& graph);
  /// Runs the graph behind everything that was recorded on the stream. Operations as one launch
  /// after the other, each of one plan; nothing is recorded, keyed or looked up.
  void replay(StreamId stream, CapturedGraph& graph, RandomShift random);

  /// Flushes everything first if they differ.
  void configure(const Settings& settings);
  Settings settings() const;

  Stats stats() const;
  void reset_stats();
  /// Drops cached plans and kernels, gives free memory back. Bytes of device memory given back.
  Bytes empty_cache();
  /// For tests of law 4: keeps only `bits` of plan and kernel hashes.
  void set_hash_mask(unsigned bits);

  /// Turns a record's `source` into text for the messages of faults. Called without the lock, on
  /// the raising thread.
  void set_source_text(std::function<std::string(std::uint32_t)> text);

  /// Called without the lock when the card is full, before a request is tried again: a chance to
  /// let go of buffers. Throws nothing. Not called for what `pressure` itself asks for.
  void set_memory_pressure(std::function<void()> pressure);
  /// How often requests were tried again since the last reset_owned_totals.
  std::uint64_t memory_reliefs() const;

  device_sim::Card& card();

 private:
  friend class Buffer;
  friend class Trace;
  friend class Images;
  friend class PeerTransfer;
  friend class Recording;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spyre::lazy
