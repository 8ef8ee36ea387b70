// spyre/kernels/call_frame.h — what one call of generated code receives: a rectangle of the iteration space.
#pragma once
#include <cstddef>
#include <cstdint>

namespace spyre::kernels {

/// The two inner dimensions, starting where `pointers` point. Generated code reads it by offset and moves
/// `pointers`. Confined to one call.
struct CallFrame {
  std::uint64_t* pointers = nullptr;  // per argument: address (Iota: value) of the first point
  const std::int64_t* strides =
      nullptr;  // [argument][2]: along the outer, along the inner dimension
  const std::uint64_t* params = nullptr;
  const std::uint64_t* slots = nullptr;  // addresses of the scratchpad rows
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::uint32_t fault = 0;        // nonzero after a division by zero
  std::uint32_t streaming = 0;    // nonzero: results are too large to stay in a cache
  std::uint32_t row_streams = 0;  // the code's own: streaming, and this row is aligned for it
  std::uint32_t unused = 0;
};

using CompiledFunction = void (*)(CallFrame*);

}  // namespace spyre::kernels
