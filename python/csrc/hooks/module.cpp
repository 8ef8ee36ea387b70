// python/csrc/hooks/module.cpp — torch_spyre._hooks: loaded by `import torch`, so it links torch and nothing of ours.
#include <pybind11/pybind11.h>

#include "hooks/dormant.h"
#include "spyre/engine/device_count.h"

PYBIND11_MODULE(_hooks, module) {
  namespace py = pybind11;
  module.doc() =
      "Tells PyTorch that the spyre device exists; loads the device itself at first use.";
  spyre::python::register_dormant_device();
  module.def("device_count", &spyre::engine::device_count, "The cards that this process sees.");
  module.attr("awake") = py::capsule(&spyre::python::awake(), spyre::python::kAwakeCapsule);
}
