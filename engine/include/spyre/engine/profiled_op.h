// spyre/engine/profiled_op.h — which operator a thread is in, by the numbers of PyTorch's profiler.
#pragma once
#include <cstdint>

namespace spyre::engine {

/// Whether a profiler wants the card's rows. Costs one load.
bool profiling() noexcept;
/// A session begins or ends; operators that earlier ones left open count no longer.
void set_profiling(bool on) noexcept;

/// The calling thread enters an operator, and leaves it again. Numbers are kept modulo 2^31.
void enter_profiled_op(std::uint64_t number);
void leave_profiled_op() noexcept;
/// The innermost operator of the calling thread; 0: none, or no profiler.
std::uint32_t profiled_op() noexcept;

}  // namespace spyre::engine
