// spyre/lazy/group.h — what some nodes become: one kernel, or one library call.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

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
};
std::string_view reason_of(Refusal refusal);

/// Runs in order of the plan. Immutable once planned.
struct Group {
  std::vector<std::uint32_t> nodes;  // members in recorded order; a library group has exactly one
  bool library = false;

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

}  // namespace spyre::lazy
