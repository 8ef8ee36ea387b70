// python/csrc/fallback_warning.cpp — the first time that an operator runs on the host, Python is warned.
#include <string>

#include "bindings.h"
#include "spyre/engine/fallback.h"

namespace spyre::python {
namespace {

namespace py = pybind11;

/// Throws what the warning became, if warnings are errors.
void warn(const std::string& message) {
  if (Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0) return;
  const py::gil_scoped_acquire gil;
  const py::object category =
      py::module_::import("torch_spyre.ops.fallbacks").attr("FallbackWarning");
  if (PyErr_WarnEx(category.ptr(), message.c_str(), 1) != 0) throw py::error_already_set();
}

}  // namespace

void provide_fallback_warnings() { engine::set_fallback_warner(&warn); }

}  // namespace spyre::python
