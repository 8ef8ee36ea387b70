// spyre/device_sim/operation.h — the typed operations that a stream carries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spyre/base/ids.h"
#include "spyre/device_sim/piece.h"

namespace spyre::device_sim {

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
  std::uint64_t rows = 0;  // reductions: rows; products: rows per batch
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
/// Runs a program with arguments that lie in device memory (its program allocation).
struct Compute {
  std::shared_ptr<const Program> program = {};
  Piece arguments = {};
};
/// Runs a function on the host-callback pool.
struct HostCallback {
  std::function<void()> function = {};
};

struct Operation {
  std::variant<HostToDevice, DeviceToHost, Compute, HostCallback> what = {};
  std::string_view name = {};  // static or owned by what the operation keeps alive
  Footprint footprint = {};    // H2D and D2H: derived from their pieces if left empty
  Work work = {};
  std::uint64_t correlation = 0;  // ties timeline rows to the recording op
  std::shared_ptr<const void> keep_alive =
      {};  // released when the operation is done, before its point is reached
};

}  // namespace spyre::device_sim
