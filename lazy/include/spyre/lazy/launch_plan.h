// spyre/lazy/launch_plan.h — what a cached trace runs: steps, the image of their arguments, and
// what to patch into it.
//
// A plan owns code and numbers, never tensors: launching it fills in the addresses and scalars of
// this time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spyre/device_sim/operation.h"
#include "spyre/lazy/memory_plan.h"

namespace spyre::lazy {

/// image[at] = address of `buffer` + `offset`.
struct AddressPatch {
  std::uint32_t at = 0, buffer = 0;
  std::uint64_t offset = 0;
};

/// image[at] = the trace's parameter `param`.
struct ParamPatch {
  std::uint32_t at = 0, param = 0;
};

/// One operation of the compute queue.
struct LaunchStep {
  std::shared_ptr<const device_sim::Program> program;
  std::uint32_t first_word = 0, words = 0;  // its arguments in the image
  std::string name;
  device_sim::Work work;
  std::vector<Touch> touches;
  std::vector<std::uint32_t> nodes;  // of the trace, in recorded order; empty: a fill
};

/// Immutable; shared by the cache and the flights in progress.
struct LaunchPlan {
  std::vector<Placement> placements;  // per buffer of the trace
  std::vector<std::uint32_t> placed;  // the buffers that some step touches, in order
  Bytes arena;
  std::vector<std::uint64_t>
      image;  // argument records of all steps: extents and strides are in place
  std::vector<AddressPatch> addresses;
  std::vector<ParamPatch> params;
  std::vector<std::uint32_t> headers;  // words of the image that name the flight
  std::vector<LaunchStep> steps;
  std::uint32_t kernel_launches = 0, library_launches = 0;
  std::uint32_t ops_planned = 0, ops_fused = 0, dead_ops = 0, duplicate_ops = 0;

  /// What it occupies in a cache; code is counted by the kernel cache.
  Bytes bytes() const;
};

/// Where the buffers are, then one line per step; stable.
std::string print(const LaunchPlan& plan);

}  // namespace spyre::lazy
