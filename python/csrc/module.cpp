// python/csrc/module.cpp — torch_spyre._C: the device. Loading it registers kernels and starts nothing.
#include <pybind11/pybind11.h>

PYBIND11_MODULE(_C, module) {
  module.doc() = "spyre";
}
