// spyre/engine/error_boundary.h — our errors become PyTorch's, at the one place where calls enter from PyTorch.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <utility>

#include "spyre/base/error.h"

namespace spyre::engine {

/// Told of each error that leaves for PyTorch. Throws nothing; called without locks.
using FailureObserver = void (*)(const Error& error);
void set_failure_observer(FailureObserver observer);

/// Called in a catch block: throws the c10 error that Python sees as the type which base/error.h promises.
[[noreturn]] void rethrow_as_c10(const Error& error);

/// Calls `function`; spyre errors leave it as c10 errors.
template <class Function, class... Arguments>
decltype(auto) bounded(Function&& function, Arguments&&... arguments) {
  try {
    return std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
  } catch (const Error& error) { rethrow_as_c10(error); }
}

template <auto function> struct Guarded;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Guarded<function> {
  static Result call(Arguments... arguments) {
    return bounded(function, std::forward<Arguments>(arguments)...);
  }
};

/// A kernel for registration: m.impl("view", guarded<&view>).
template <auto function> inline constexpr auto* guarded = &Guarded<function>::call;

/// The same for a boxed kernel: CppFunction::makeFromBoxedFunction<guarded_boxed<&kernel>>().
template <auto function>
void guarded_boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  bounded(function, op, stack);
}

}  // namespace spyre::engine
