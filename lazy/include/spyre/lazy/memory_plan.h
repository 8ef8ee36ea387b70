// spyre/lazy/memory_plan.h — where each buffer of a plan lives: in memory it has, in new memory, or
// in the plan's arena.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {

/// Bytes of a buffer that one step of a plan touches: runs of `run` bytes, `period` apart, within
/// [begin, end), which counts from the buffer's base.
struct Touch {
  std::uint32_t buffer = 0;
  bool write = false;
  std::int64_t begin = 0, end = 0;
  std::int64_t run = 0, period = 0;  // run 0: somewhere in [begin, end)

  bool dense() const { return run == end - begin; }
  /// As many as there may be.
  std::uint64_t bytes() const {
    const std::int64_t length = end - begin;
    const std::int64_t runs = run == 0 || period == 0 ? 1 : (length - run) / period + 1;
    return static_cast<std::uint64_t>(run == 0 ? length : std::min(length, run * runs));
  }
  /// Then the base is the buffer's begin.
  bool fills(std::uint64_t buffer_bytes) const {
    return write && dense() && begin == 0 && end == static_cast<std::int64_t>(buffer_bytes);
  }
};

/// What the memory planner knows of one step.
struct StepTouches {
  std::vector<Touch> touches;
  /// The buffer whose old bytes the step's only output may replace, point for point, or kNone.
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  std::uint32_t in_place_input = kNone, in_place_output = kNone;
};

struct Placement {
  enum class Kind : std::uint8_t {
    None,     // no step touches it
    Given,    // has memory before the launch
    New,      // gets memory at the launch: someone may read it later
    Donated,  // takes over the memory of buffer `donor`, which nobody can read any more
    Lent,     // in the memory of buffer `donor`, a new one, until that is computed in place of it
    Arena,    // lives at `offset` of the launch's arena, and only during it
  };
  Kind kind{};
  std::uint32_t donor = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Bytes that some step would read before any has written them become zero.
struct ZeroFill {
  std::uint32_t before_step = 0, buffer = 0;
  friend bool operator==(const ZeroFill&, const ZeroFill&) = default;
};

struct MemoryPlan {
  std::vector<Placement> placements;  // per buffer
  std::vector<ZeroFill> fills;        // in order of before_step
  Bytes arena;
};

/// The touches of each group of a plan, in order.
std::vector<StepTouches> touches_of(const Plan& plan);

/// Pure. Two buffers share arena bytes only if their lifetimes (first to last step) do not meet, or
/// the later one is computed in place of the earlier.
MemoryPlan plan_memory(std::span<const BufferFacts> buffers, std::span<const StepTouches> steps);

}  // namespace spyre::lazy
