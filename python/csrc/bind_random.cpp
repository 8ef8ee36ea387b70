// python/csrc/bind_random.cpp — the devices' own generators, as torch.Generator.
#include <torch/csrc/utils/pybind.h>

#include "bindings.h"
#include "spyre/engine/generator.h"

namespace spyre::python {

void bind_random(pybind11::module_& module) {
  module.def(
      "default_generator",
      [](c10::DeviceIndex device) { return engine::default_generator(device); },
      "The generator that a device uses when no other is given. Starts nothing.");
}

}  // namespace spyre::python
