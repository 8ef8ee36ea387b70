// python/csrc/garbage.cpp — a full card has Python collect cycles, which may hold tensors.
#include "bindings.h"
#include "spyre/engine/memory_pressure.h"

namespace spyre::python {
namespace {

void collect() {
  if (Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0) return;
  const pybind11::gil_scoped_acquire gil;
  const pybind11::error_scope pending;  // collecting must not lose an exception that is on its way
  try {
    pybind11::module_::import("gc").attr("collect")();  // PyGC_Collect() obeys gc.disable()
  } catch (pybind11::error_already_set& error) { error.discard_as_unraisable("torch_spyre"); }
}

}  // namespace

void provide_garbage_collection() { engine::set_let_go(&collect); }

}  // namespace spyre::python
