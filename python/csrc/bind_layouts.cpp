// python/csrc/bind_layouts.cpp — tensors in the card's layouts; the layouts themselves are in torch_spyre._hooks.
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bindings.h"
#include "spyre/engine/card_numbers.h"
#include "spyre/engine/layout_tensor.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::TensorLayout;

at::Tensor empty_with_layout(const std::vector<std::int64_t>& size, c10::ScalarType type,
                             const TensorLayout& layout, c10::DeviceIndex device) {
  return engine::empty_in_layout(size, type, c10::Device(c10::DeviceType::PrivateUse1, device),
                                 layout);
}

std::optional<TensorLayout> kept_layout(const at::Tensor& tensor) {
  const TensorLayout* layout = engine::kept_layout(tensor);
  return layout == nullptr ? std::nullopt : std::optional(*layout);
}

/// Upstream has these names here. Found when asked for: torch_spyre.layouts lets torch take layouts,
/// which a program that names none of them need not have.
py::object upstream_name(const std::string& name) {
  constexpr std::array<std::string_view, 6> kLayouts{"DataFormats",       "ElementArrangement",
                                                     "SpyreTensorLayout", "encode_constant",
                                                     "get_device_dtype",  "get_elem_in_stick"};
  if (std::ranges::find(kLayouts, name) != kLayouts.end())
    return py::module_::import("torch_spyre.layouts").attr(name.c_str());
  const auto use = py::module_::import("torch_spyre._layout_use");
  if (use.attr("UPSTREAM_TENSORS").contains(name))
    return py::module_::import("torch_spyre.layout_tensors").attr(name.c_str());
  throw py::attribute_error("module 'torch_spyre._C' has no attribute '" + name + "'");
}

}  // namespace

void bind_layouts(py::module_& module) {
  module.def("__getattr__", &upstream_name);
  module.def("empty_with_layout", &empty_with_layout, py::arg("size"), py::arg("dtype"),
             py::arg("layout"), py::arg("device") = -1,
             "A new tensor that the card keeps in a layout.");
  module.def("kept_layout", &kept_layout, py::arg("tensor"),
             "The layout that was chosen for a tensor's storage, or None.");
  module.def("get_downcast_warning", &engine::warns_of_downcast,
             "Whether the first int64 that the card keeps as int32 is told of.");
  module.def("set_downcast_warning", &engine::set_downcast_warning, py::arg("warns"));
}

}  // namespace spyre::python
