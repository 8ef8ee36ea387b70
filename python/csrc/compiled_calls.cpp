// python/csrc/compiled_calls.cpp — what generated wrappers call at every step.
//
// Plain C functions: pybind11 takes longer over the arguments of such a call than the call takes.
#include "compiled_calls.h"

#include <structmember.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "bindings.h"
#include "spyre/base/error.h"
#include "spyre/engine/tensor.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using engine::KernelProgram;

/// Python's object around a kernel. `spec` is its caller's own. Confined by the GIL.
struct PreparedKernel {
  PyObject head;
  vectorcallfunc call;
  PyObject* spec;
  std::shared_ptr<KernelProgram> kernel;
};

/// Runs `body`; what it throws becomes Python's error, and the result null.
template <typename Body> PyObject* guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (...) { raise_in_python(std::current_exception()); }
  return nullptr;
}

std::int64_t integer_from(PyObject* value) {
  const std::int64_t number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return number;
}

using Integers = c10::SmallVector<std::int64_t, 6>;

Integers integers_from(PyObject* values) {
  const auto items =
      py::reinterpret_steal<py::object>(PySequence_Fast(values, "expected a sequence of integers"));
  if (!items) throw py::error_already_set();
  Integers numbers;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i)
    numbers.push_back(integer_from(PySequence_Fast_GET_ITEM(items.ptr(), i)));
  return numbers;
}

/// kernel(*tensors, *integers of the table, *numbers)
void launch(KernelProgram& kernel, PyObject* const* arguments, Py_ssize_t count) {
  c10::SmallVector<at::Tensor, 8> tensors;
  c10::SmallVector<std::int64_t, 8> given;
  c10::SmallVector<c10::Scalar, 2> numbers;
  for (PyObject* const argument : std::span(arguments, static_cast<std::size_t>(count))) {
    if (THPVariable_Check(argument)) tensors.push_back(THPVariable_Unpack(argument));
    else if (given.size() < kernel.given()) given.push_back(integer_from(argument));
    else numbers.push_back(number_from(argument));
  }
  const py::gil_scoped_release released;
  kernel.launch({tensors.data(), tensors.size()}, {given.data(), given.size()},
                {numbers.data(), numbers.size()});
}

PyObject* call_kernel(PyObject* self, PyObject* const* arguments, std::size_t count,
                      PyObject* keywords) {
  return guarded([&] {
    if (keywords != nullptr && PyTuple_GET_SIZE(keywords) != 0)
      throw TypeMismatch("a kernel takes no keyword arguments");
    // As another thread may drop the last reference meanwhile.
    const std::shared_ptr<KernelProgram> kernel = reinterpret_cast<PreparedKernel*>(self)->kernel;
    launch(*kernel, arguments, PyVectorcall_NARGS(count));
    return Py_NewRef(Py_None);
  });
}

void end_kernel(PyObject* self) {
  auto* const prepared = reinterpret_cast<PreparedKernel*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(prepared->spec);
  prepared->kernel.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* name_of_kernel(PyObject* self, void* /*closure*/) {
  const std::string& name = reinterpret_cast<PreparedKernel*>(self)->kernel->name();
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}

PyTypeObject* kernel_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(PreparedKernel, call), READONLY, nullptr},
      {"spec", T_OBJECT, offsetof(PreparedKernel, spec), 0, "What the kernel was prepared from."},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef properties[] = {{"name", &name_of_kernel, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A compiled kernel; calling it records its operations.")},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&end_kernel)},
      {0, nullptr}};
  static PyType_Spec spec{
      "torch_spyre._C.PreparedKernel", sizeof(PreparedKernel), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  return type;
}

/// launch_jobplan(kernel, *arguments)
PyObject* launch_jobplan(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count == 0 || Py_TYPE(arguments[0]) != kernel_type())
      throw TypeMismatch("launch_jobplan: expected a prepared kernel first");
    return call_kernel(arguments[0], arguments + 1, static_cast<std::size_t>(count - 1), nullptr);
  });
}

/// empty_strided(sizes, strides, dtype, device index)
PyObject* empty_strided(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 4 || !THPDtype_Check(arguments[2]))
      throw TypeMismatch("empty_strided: expected sizes, strides, a dtype and a device's index");
    const Integers sizes = integers_from(arguments[0]), strides = integers_from(arguments[1]);
    const auto type = reinterpret_cast<THPDtype*>(arguments[2])->scalar_type;
    const auto index = static_cast<c10::DeviceIndex>(integer_from(arguments[3]));
    return THPVariable_Wrap(
        engine::empty_strided(sizes, strides, type, {c10::DeviceType::PrivateUse1, index}));
  });
}

/// Whether a tensor has these sizes and, where they matter, strides.
bool lies_as(const at::Tensor& tensor, PyObject* sizes, PyObject* strides) {
  if (!PyTuple_CheckExact(sizes) || !PyTuple_CheckExact(strides)) return false;
  const auto dims = static_cast<Py_ssize_t>(tensor.dim());
  if (PyTuple_GET_SIZE(sizes) != dims || PyTuple_GET_SIZE(strides) != dims) return false;
  for (Py_ssize_t d = 0; d < dims; ++d) {
    const std::int64_t size = integer_from(PyTuple_GET_ITEM(sizes, d));
    const std::int64_t stride = integer_from(PyTuple_GET_ITEM(strides, d));
    if (tensor.size(d) != size || (size > 1 && tensor.stride(d) != stride)) return false;
  }
  return true;
}

/// assert_size_stride(tensor, sizes, strides, name): PyTorch's own function says what is wrong.
PyObject* assert_size_stride(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count >= 3 && THPVariable_Check(arguments[0]) &&
        lies_as(THPVariable_Unpack(arguments[0]), arguments[1], arguments[2]))
      return Py_NewRef(Py_True);
    py::list all;
    for (Py_ssize_t i = 0; i < count; ++i) all.append(py::handle(arguments[i]));
    const py::object theirs =
        py::module_::import("torch").attr("_C").attr("_dynamo").attr("guards");
    return theirs.attr("assert_size_stride")(*all).release().ptr();
  });
}

template <typename Function> PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

c10::Scalar number_from(PyObject* value) {
  if (PyBool_Check(value)) return value == Py_True;
  if (PyLong_Check(value)) return integer_from(value);
  const double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return number;
}

py::object prepared(std::shared_ptr<KernelProgram> kernel) {
  PyTypeObject* const type = kernel_type();
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) throw py::error_already_set();
  auto* const made = reinterpret_cast<PreparedKernel*>(object);
  made->call = &call_kernel;
  new (&made->kernel) std::shared_ptr<KernelProgram>(std::move(kernel));
  return py::reinterpret_steal<py::object>(object);
}

void bind_compiled_calls(py::module_& module) {
  static std::array<PyMethodDef, 4> methods{
      {{"launch_jobplan", as_method(&launch_jobplan), METH_FASTCALL,
        "Records a prepared kernel's operations."},
       {"empty_strided", as_method(&empty_strided), METH_FASTCALL, "A new tensor."},
       {"assert_size_stride", as_method(&assert_size_stride), METH_FASTCALL,
        "Raises AssertionError if a tensor does not lie so."},
       {nullptr, nullptr, 0, nullptr}}};
  if (PyModule_AddFunctions(module.ptr(), methods.data()) != 0) throw py::error_already_set();
  module.attr("PreparedKernel") =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(kernel_type()));
}

}  // namespace spyre::python
