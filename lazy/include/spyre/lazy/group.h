// spyre/lazy/group.h — what some nodes become: one kernel, or one library call.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/base/dims.h"
#include "spyre/device_sim/operation.h"
#include "spyre/kernels/kernel_spec.h"

namespace spyre::lazy {

/// Where the base of a kernel argument comes from.
struct Binding {
  enum class Kind : std::uint8_t {
    Read,  // address of `buffer` + `offset`
    Write,
    Iota,  // value of parameter slot `index`
  };
  Kind kind{};
  std::uint32_t index = 0;          // buffer or parameter slot
  std::int64_t offset = 0;          // bytes
  std::int64_t begin = 0, end = 0;  // bytes of the buffer that are touched: [begin, end)
};

/// Why a candidate did not join a group.
enum class Refusal : std::uint8_t {
  None,         // there was no candidate
  Library,      // it is a library call
  Shape,        // the iteration spaces have no common refinement
  Overlap,      // it touches the same bytes at other points
  Order,        // a group in between must run before
  Form,         // the loop nest has no place for it (a second reduction axis, a split row)
  Size,         // too many steps or arguments
  Parallelism,  // few long rows: each would keep one core busy and leave the others idle
  Scratchpad,   // rows would not fit LX
  Fault,        // one of them may fault, which loses what its kernel writes
};
std::string_view reason_of(Refusal refusal);

struct Chain;

/// Runs in order of the plan. Immutable once planned.
struct Group {
  std::vector<std::uint32_t> nodes;  // members in recorded order; a library group has exactly one
  bool library = false;
  std::shared_ptr<const Chain> chain = nullptr;  // set: the stages run instead, panel by panel

  // Kernel groups only. `bindings` is parallel to `spec.arguments`.
  kernels::KernelSpec spec;
  std::vector<Binding> bindings;
  std::vector<std::uint32_t> params;  // launch parameter -> parameter slot of the trace
  Dims extents;                       // `spec.rank` loop extents
  std::vector<std::int64_t>
      strides;  // [argument][dimension]: bytes (Iota: units), as kernels::LaunchArguments
  device_sim::Work work;

  Refusal refusal{};          // of the last candidate that did not join
  std::uint32_t refused = 0;  // that candidate: a node of it
};

/// One step of a chain: a kernel or library group, cut to one panel of rows.
struct Stage {
  /// Kernel: extents and strides of one panel; extents[0] holds `points_per_row` points of a row.
  Group group;
  std::int64_t points_per_row = 1;
  /// Kernel: of each argument over Chain::rows, in bytes (Iota: units).
  std::vector<Dims> row_strides = {};
  /// Library: where in the scratchpad the panels of a batch find what they share; without `keeps`,
  /// every panel prepares it again.
  Bytes batch_bytes = {};
  std::uint64_t batch_offset = 0;
  bool keeps = false;
};

/// Groups whose rows depend on the same rows of each other. A panel of rows goes through all of
/// them before the next one starts, and what only they need never leaves the scratchpad.
struct Chain {
  /// A buffer of which only the panel's rows exist.
  struct Resident {
    std::uint32_t buffer = 0;
    std::int64_t row_bytes = 0;
    std::uint64_t offset = 0;  // in the scratchpad
  };
  Dims rows = {};               // a panel lies within the last dimension
  std::int64_t panel_rows = 0;  // at most
  std::vector<Stage> stages = {};
  std::vector<Resident> residents = {};
  Bytes resident_bytes = {};  // of the scratchpad, with what stages keep

  std::int64_t panels_per_run() const { return (rows.back() + panel_rows - 1) / panel_rows; }
  std::int64_t panels() const { return rows.numel() / rows.back() * panels_per_run(); }
  /// Position in `residents`, or kNone.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t resident(std::uint32_t buffer) const {
    for (std::size_t i = 0; i < residents.size(); ++i)
      if (residents[i].buffer == buffer) return i;
    return kNone;
  }
};

}  // namespace spyre::lazy
