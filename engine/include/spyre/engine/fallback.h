// spyre/engine/fallback.h — any operator without a device kernel runs as PyTorch's CPU kernel over device memory.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/CPUFallback.h>

#include <string>

namespace spyre::engine {

/// Ends the trace, waits, and runs the CPU kernel on views of the arguments' memory: in-place, out=, lists and hidden
/// mutations write where they should. Results get buffers of their own unless they alias an argument. Counted by name;
/// SPYRE_FALLBACK=warn|error. Throws c10::NotImplementedError if there is no CPU kernel either.
void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Tells the user that an operator runs on the host; python/ provides it. May throw, as warnings that are errors do.
using FallbackWarner = void (*)(const std::string& message);
/// Once, when the module loads.
void set_fallback_warner(FallbackWarner warner);

/// For a kernel that meets a case it does not cover: on_host<ATEN_OP2(add, Tensor)>::call(self, other, alpha).
template <class Op> using on_host = at::native::call_fallback_fn<&fall_back, Op>;

}  // namespace spyre::engine
