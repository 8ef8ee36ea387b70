// spyre/device_sim/work_division.h — which core does which part: upstream's planner, as rules.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {

/// A dimension that a kernel loops over. One that is some tensor's stick counts in sticks.
struct LoopDim {
  std::uint64_t extent = 1;
  bool reduction = false;
  bool pinned = false;  // must not be divided
};

/// A tensor's dimensions, the outermost first: which loop walks it, and how far one step goes.
struct TensorDim {
  std::size_t loop = 0;
  Bytes step;
};
using TensorDims = std::vector<TensorDim>;

/// Over how many cores each loop is divided. Every part divides its extent; at most `cores` in all.
/// First as much as each tensor's span per core demands, then the output loops from the longest,
/// then one reduction. Throws Unsupported if a tensor cannot be divided enough.
std::vector<std::uint64_t> divide_loops(std::span<const LoopDim> loops,
                                        std::span<const TensorDims> tensors,
                                        const DeviceSpec& spec);

/// The cheapest division of a product by the planner's own cost (which only chooses; price.h
/// prices). N and K are divided in sticks of 64.
CoreSplit divide_product(const ProductShape& product, int cores);
/// The planner's cost in microseconds.
double planner_cost(const ProductShape& product, const CoreSplit& split, int cores);

/// The slice of every loop that a core works on: the first loop's slices are neighbours.
std::vector<std::uint64_t> slice_of_core(CoreId core, std::span<const std::uint64_t> splits);

/// `work` as a card of `cores` would do it: a product of known shape is divided.
Work divided(Work work, int cores);

}  // namespace spyre::device_sim
