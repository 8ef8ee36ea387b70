// python/csrc/interruptions.cpp — Ctrl-C ends a wait for the card with what its handler raised.
#include "interruptions.h"

#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>

#include <optional>
#include <utility>

#include "spyre/device_sim/patience.h"
#include "spyre/engine/interruption.h"

namespace spyre::python {
namespace {

/// What this thread's last interruption raised, on its way to Python.
std::optional<python_error>& raised() {
  static thread_local std::optional<python_error> error;
  return error;
}

/// Lets Python handle its signals, as it does between two instructions; whether that raised. Python does nothing here
/// outside the main thread.
bool signal_has_raised() {
  if (Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0) return false;
  const pybind11::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  raised().emplace().persist();
  return true;
}

void throw_raised() {
  if (raised()) throw python_error(*std::exchange(raised(), std::nullopt));
}

}  // namespace

void provide_interruptions() {
  static thread_local const device_sim::Patience patience(&signal_has_raised);
  engine::set_interruption_thrower(&throw_raised);
}

}  // namespace spyre::python
