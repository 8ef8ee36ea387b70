// spyre/engine/error_boundary.cpp — one row per kind of error.
#include "spyre/engine/error_boundary.h"

#include <c10/util/Exception.h>

#include <atomic>

#include "spyre/base/matrix_error.h"
#include "spyre/device_sim/patience.h"
#include "spyre/engine/interruption.h"

namespace spyre::engine {
namespace {

template <class C10Error> [[noreturn]] void raise(const Error& error) {
  throw C10Error({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, error.what());
}

template <class Kind> bool is(const Error& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

std::atomic<FailureObserver>& observer() {
  static std::atomic<FailureObserver> instance{nullptr};
  return instance;
}

std::atomic<InterruptionThrower>& thrower() {
  static std::atomic<InterruptionThrower> instance{nullptr};
  return instance;
}

}  // namespace

void set_failure_observer(FailureObserver replacement) { observer() = replacement; }
void set_interruption_thrower(InterruptionThrower replacement) { thrower() = replacement; }

void rethrow_as_c10(const Error& error) {
  if (is<device_sim::WaitGivenUp>(error))
    if (const InterruptionThrower interrupt = thrower()) interrupt();
  if (const FailureObserver observe = observer()) observe(error);
  if (is<InvalidArgument>(error)) raise<c10::ValueError>(error);
  if (is<IndexOutOfRange>(error)) raise<c10::IndexError>(error);
  if (is<TypeMismatch>(error)) raise<c10::TypeError>(error);
  if (is<Unsupported>(error)) raise<c10::NotImplementedError>(error);
  if (is<OutOfDeviceMemory>(error)) raise<c10::OutOfMemoryError>(error);
  if (is<MatrixError>(error)) raise<c10::LinAlgError>(error);
  if (is<DeviceFault>(error)) {
    throw c10::AcceleratorError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, 1,
                                error.what());
  }
  raise<c10::Error>(error);
}

}  // namespace spyre::engine
