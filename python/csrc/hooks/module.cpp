// python/csrc/hooks/module.cpp — torch_spyre._hooks: loaded by `import torch`, so it has only what needs no runtime.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.h"
#include "hooks/dormant.h"
#include "layouts/layout_bindings.h"
#include "spyre/engine/device_count.h"

PYBIND11_MODULE(_hooks, module) {
  namespace py = pybind11;
  module.doc() =
      "Tells PyTorch that the spyre device exists; loads the device itself at first use.";
  spyre::python::register_error_types();
  spyre::python::register_dormant_device();
  spyre::python::register_dormant_profiler();
  spyre::python::bind_formats(module);
  spyre::python::bind_tensor_layout(module);
  spyre::python::bind_copy_nests(module);
  module.def("device_count", &spyre::engine::device_count, "How many cards this process sees.");
  module.def(
      "card_numbers", [] { return spyre::engine::visible_cards().numbers; },
      "Their numbers in the machine, by index in this process.");
  module.attr("awake") = py::capsule(&spyre::python::awake(), spyre::python::kAwakeCapsule);
}
