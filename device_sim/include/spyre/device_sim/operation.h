// spyre/device_sim/operation.h — the typed operations that a stream carries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spyre/base/hash.h"
#include "spyre/base/ids.h"
#include "spyre/device_sim/piece.h"

namespace spyre::device_sim {

class Card;

/// A point on a stream's timeline: reached when the stream's operation number `sequence` has
/// finished.
struct TimelinePoint {
  StreamId stream = {};
  std::uint64_t sequence = 0;     // 0: always reached
  std::uint64_t modelled_ps = 0;  // when, on the card's modelled clock; filled by the card
  friend bool operator==(const TimelinePoint& a, const TimelinePoint& b) {
    return a.stream == b.stream && a.sequence == b.sequence;
  }
};

/// One simulated core, as a program sees it. Valid during one call.
struct Core {
  CoreId id = {};
  std::span<std::byte> scratchpad = {};  // LX: private to this core while it runs a slice
};

/// A matrix product: C[b, m, n] is the sum over k of A[b, m, k] and B[b, k, n]. m = 0: not known.
struct ProductShape {
  std::uint64_t batch = 1, m = 0, n = 0, k = 0;
  bool shared_right = false;  // one B for all batches
  bool known() const { return m != 0; }
  std::uint64_t macs() const { return batch * m * n * k; }
};

/// Over how many cores each dimension is divided (work_division.h). All 0: as well as can be.
struct CoreSplit {
  std::uint8_t batch = 0, m = 0, n = 0, k = 0;
  bool chosen() const { return m != 0; }
  int cores() const { return batch * m * n * k; }
  friend bool operator==(const CoreSplit&, const CoreSplit&) = default;
};

/// The operands of matrix units: narrower ones multiply more per cycle.
enum class MacFormat : std::uint8_t { Fp16, Fp8, Int8, Int4 };

/// What an operation moves and computes: the clock prices this, and nothing else.
struct Work {
  std::uint64_t bytes_read = 0, bytes_written = 0;  // device memory, distinct operands once
  std::uint64_t macs = 0;                           // matrix units
  std::uint64_t lane_ops = 0;                       // vector lanes (transcendentals count 4)
  enum class Pattern : std::uint8_t {
    Stream,
    RowReduction,
    ColumnReduction,
    Broadcast,
    Relayout,
    Product
  } pattern{};
  std::uint64_t rows = 0;     // reductions: rows; products: rows per batch
  ProductShape product = {};  // products, if known; macs and rows stand beside it
  CoreSplit split = {};
  MacFormat mac_format{};
  std::uint64_t padding_read = 0, padding_written = 0;  // besides: what only fills up sticks
  std::uint64_t bytes_ring = 0;                         // from core to core
  std::uint64_t scratchpad_peak = 0;                    // bytes of LX that the busiest core uses
  /// What its operations pass on to each other: free in scratchpads, traffic without planning.
  std::uint64_t passed_read = 0, passed_written = 0;
  std::uint64_t bytes_converted = 0;          // host callbacks: to or from the card's formats
  std::vector<std::uint64_t> by_domain = {};  // bytes moved in each memory domain; none: evenly
};

/// Device memory ranges that an operation reads and writes; hazards between pipelines are found
/// from them.
struct Footprint {
  std::vector<Piece> reads = {}, writes = {};
};

/// Code for the compute queue. Immutable; run() is called for disjoint item ranges, on several
/// cores at once.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::int64_t work_items(std::span<const std::byte> arguments) const = 0;
  virtual void run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
                   Core& core) const = 0;
  // For profilers, who ask once a launch.
  /// Tells programs of one name apart, on any machine alike.
  virtual Hash128 identity() const { return {}; }
  /// Whether all it does is to set memory to one value.
  virtual bool fills() const { return false; }
};

/// Host memory -> device memory. The source must stay valid until done (`keep_alive` may own it).
/// A null source moves nothing: the transfer is priced and counted, for what the simulation does
/// without it (code that runs on the host reads device memory directly). So for DeviceToHost.
struct HostToDevice {
  const std::byte* source = nullptr;
  Piece target = {};
  std::shared_ptr<const void> keep_alive = {};
};
/// Device memory -> host memory.
struct DeviceToHost {
  Piece source = {};
  std::byte* target = nullptr;
  std::shared_ptr<const void> keep_alive = {};
};
/// A point of another card's timeline. That card outlives whatever waits for it.
struct PeerPoint {
  Card* card = nullptr;
  TimelinePoint point = {};
};
/// How fast a card talks to others.
struct PeerLink {
  double gb_per_s = 0;
  std::uint64_t setup_ps = 0;
};
// A copy from card to card is three operations, which peer_copy.h submits: the target's card opens
// its memory, the source's card sends, the target's card has received.
/// From here on another card may write the piece.
struct PostReceive {
  Piece target = {};
};
/// Device memory -> another card's memory, once that is open.
struct Send {
  Piece source = {};
  std::byte* target = nullptr;
  PeerLink to = {};
  PeerPoint open = {};
  std::function<void()> arrived =
      {};  // called when the bytes are there, before the point is reached
};
/// The piece has been written: nothing is left to move.
struct Receive {
  Piece target = {};
  PeerLink from = {};
  PeerPoint sent = {};
};
/// The stream goes on when another card has got to a point.
struct AwaitPeer {
  PeerPoint point = {};
};

/// Runs a program with arguments that lie in device memory (its program allocation).
struct Compute {
  std::shared_ptr<const Program> program = {};
  Piece arguments = {};
};
/// Runs a function on the host-callback pool.
struct HostCallback {
  std::function<void()> function = {};
  bool fills = false;  // sets device memory to one value, for profilers
};

/// Hears of operations that did not happen. Lives as long as what the operation keeps alive. `lost`
/// is told without locks, before the point is reached; `calls_off` is asked under the scheduler's.
class LossListener {
 public:
  /// `fault`: what the operation threw; null: it was skipped, because its stream was faulted.
  virtual void lost(std::uint32_t part, const std::exception_ptr& fault) noexcept = 0;
  /// Whether this part must not run any more, though nobody has taken it for faulted yet.
  virtual bool calls_off(std::uint32_t part) const noexcept = 0;

 protected:
  ~LossListener() = default;
};

struct Operation {
  std::variant<HostToDevice, DeviceToHost, Compute, HostCallback, PostReceive, Send, Receive,
               AwaitPeer>
      what = {};
  std::string_view name = {};  // static or owned by what the operation keeps alive
  Footprint footprint = {};    // beside the piece that a transfer names
  Work work = {};
  std::uint64_t correlation = 0;  // the launch that it belongs to
  std::uint32_t source = 0;       // what recorded it, in its submitter's numbers
  LossListener* listener = nullptr;
  std::uint32_t part = 0;  // in the listener's numbers
  std::shared_ptr<const void> keep_alive =
      {};  // released when the operation is done, before its point is reached
  /// Waits for all earlier operations of its stream. Without it, it may overtake those on other
  /// pipelines back to the stream's last wait_for, unless they touch the same memory.
  bool barrier = true;
  std::vector<TimelinePoint> after = {};  // and for these, of any stream
  bool chained = false;  // submitted in one call with the one before: costs the host nothing
};

/// What another card has to get to first; null: nothing.
const PeerPoint* awaited_peer(const Operation& operation);

/// Lets go of what a finished operation runs and keeps alive. What it says about memory stays.
void release(Operation& operation);

}  // namespace spyre::device_sim
