// python/csrc/compiled_calls.h — Python's side of a prepared kernel.
#pragma once
#include <c10/core/Scalar.h>
#include <pybind11/pybind11.h>

#include <memory>

#include "spyre/engine/kernel_program.h"

namespace spyre::python {

/// A Python object that is called with a kernel's tensors, integers and numbers.
pybind11::object prepared(std::shared_ptr<engine::KernelProgram> kernel);

/// A bool, an integer or a float. Throws Python's TypeError for anything else.
c10::Scalar number_from(PyObject* value);

void bind_compiled_calls(pybind11::module_& module);
void bind_layout_guards(pybind11::module_& module);  // what calls ask of their inputs

}  // namespace spyre::python
