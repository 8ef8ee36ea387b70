// spyre/device_sim/memory.h — how device memory is asked for, counted and shown.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "spyre/device_sim/block.h"
#include "spyre/device_sim/directive.h"
#include "spyre/device_sim/piece.h"

namespace spyre::device_sim {

/// Programs live in a region of their own; it has a budget of its own.
enum class MemoryType : std::uint8_t { Tensor, Program };

struct AllocationRequest {
  Bytes size = {};
  MemoryType type{};
  Directive directive = {};  // for tensors
};

/// Of tensor memory, unless said otherwise. Bytes count whole blocks, unless requested.
struct MemoryStats {
  Bytes capacity, allocated, reserved, peak_allocated, peak_reserved, largest_free;
  std::uint64_t allocations = 0, frees = 0, live = 0, pieces = 0;

  Bytes requested, peak_requested;  // before rounding to blocks
  Bytes deferred;                   // freed, but something in flight may still use it
  Bytes total_allocated, total_freed;
  std::uint64_t peak_live = 0;
  std::uint64_t failures = 0;  // requests that found no memory
  std::uint64_t relieved = 0;  // and those that found some after waiting or asking for help
  Bytes program_capacity, program_allocated, program_peak;
};

struct RegionSnapshot {
  RegionId region;
  std::uint64_t handle = 0;  // as in LogicalAddress
  MemoryType type{};
  std::uint16_t domain = 0;
  Bytes length, allocated, committed, largest_free;
  std::vector<Block> blocks;  // the whole region in order
};
using MemorySnapshot = std::vector<RegionSnapshot>;

/// Called when a request finds no memory, without any lock of the card; true: try once more.
using ExhaustionHandler = std::function<bool(Bytes requested)>;

}  // namespace spyre::device_sim
