// python/csrc/layout_guards.cpp — what compiled code asks of its inputs at each call.
//
// Plain C functions: Dynamo calls one for each input, before every call of the code.
#include <pybind11/pybind11.h>
#include <torch/csrc/autograd/python_variable.h>

#include <exception>
#include <memory>

#include "bindings.h"
#include "compiled_calls.h"
#include "spyre/engine/layout_tensor.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::TensorLayout;

/// `expected` is a capsule with a layout, or None for tensors without a chosen one.
bool lies_so(PyObject* expected, PyObject* value) {
  if (!THPVariable_Check(value)) return false;
  const at::Tensor& tensor = THPVariable_Unpack(value);
  if (!tensor.device().is_privateuseone() || !tensor.has_storage()) return false;
  const TensorLayout* const kept = engine::kept_layout(tensor);
  if (kept == nullptr || expected == Py_None) return kept == nullptr && expected == Py_None;
  return *kept == *static_cast<const TensorLayout*>(PyCapsule_GetPointer(expected, nullptr));
}

PyObject* check_layout(PyObject* expected, PyObject* value) noexcept {
  try {
    return PyBool_FromLong(static_cast<long>(lies_so(expected, value)));
  } catch (...) { raise_in_python(std::current_exception()); }
  return nullptr;
}

py::object expectation(const py::object& layout) {
  if (layout.is_none()) return layout;
  auto copy = std::make_unique<TensorLayout>(py::cast<const TensorLayout&>(layout));
  py::capsule capsule(copy.get(), [](void* owned) { delete static_cast<TensorLayout*>(owned); });
  static_cast<void>(copy.release());
  return capsule;
}

py::object layout_guard(const py::object& layout) {
  static PyMethodDef method{"check_layout", &check_layout, METH_O,
                            "Whether a tensor has a layout."};
  PyObject* const function = PyCFunction_New(&method, expectation(layout).ptr());
  if (function == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(function);
}

}  // namespace

void bind_layout_guards(py::module_& module) {
  module.def("layout_guard", &layout_guard, py::arg("layout"),
             "A function that tells whether a tensor has this layout; None: no chosen one.");
}

}  // namespace spyre::python
