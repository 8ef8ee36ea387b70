// python/csrc/layouts/bind_tensor_layout.cpp — SpyreTensorLayout, with upstream's names.
#include "layouts/layout_bindings.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/restickify.h"
#include "spyre/device_sim/tensor_layout.h"
#include "spyre/engine/data_formats.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::DataFormat;
using device_sim::ElementArrangement;
using device_sim::TensorLayout;

constexpr int kPickleVersion = 3;  // upstream's, for this tuple

TensorLayout derived(const Sizes& size, c10::ScalarType type) {
  return TensorLayout::derived(Dims{std::span(size)}, engine::device_format(type));
}

TensorLayout derived_in_order(const Sizes& size, const Sizes& stride, c10::ScalarType type,
                              const Sizes& order) {
  return TensorLayout::derived(Dims{std::span(size)}, Dims{std::span(stride)},
                               engine::device_format(type), Dims{std::span(order)});
}

TensorLayout explicit_layout(const Sizes& device_size, const Sizes& stride_map, DataFormat format,
                             ElementArrangement arrangement) {
  return {Dims{std::span(device_size)}, Dims{std::span(stride_map)}, format, arrangement};
}

py::tuple state_of(const TensorLayout& layout) {
  return py::make_tuple(kPickleVersion, as_list(layout.device_size()), as_list(layout.stride_map()),
                        static_cast<int>(layout.format()), static_cast<int>(layout.arrangement()));
}

TensorLayout from_state(const py::tuple& state) {
  if (state.size() != 5 || state[0].cast<int>() != kPickleVersion)
    throw InvalidArgument(str("layout: a pickle of version ", kPickleVersion, " is expected; got ",
                              py::str(state).cast<std::string>()));
  const auto format = state[3].cast<int>(), arrangement = state[4].cast<int>();
  if (format < 0 || format >= static_cast<int>(device_sim::kDataFormatCount) || arrangement < 0 ||
      arrangement >= static_cast<int>(device_sim::kElementArrangementCount))
    throw InvalidArgument(str("layout: no format ", format, " or arrangement ", arrangement));
  return explicit_layout(state[1].cast<Sizes>(), state[2].cast<Sizes>(),
                         static_cast<DataFormat>(format),
                         static_cast<ElementArrangement>(arrangement));
}

TensorLayout restickify(const TensorLayout& layout, const Sizes& size, std::size_t dim,
                        const std::optional<Sizes>& stride) {
  return device_sim::restickified(layout, host_shape(size, stride), dim);
}

}  // namespace

void bind_tensor_layout(py::module_& module) {
  py::class_<TensorLayout>(module, "SpyreTensorLayout", "How a tensor lies in the card's memory.")
      .def(py::init(&derived), py::arg("host_size"), py::arg("dtype"))
      .def(py::init(&derived_in_order), py::arg("host_size"), py::arg("host_strides"),
           py::arg("dtype"), py::arg("dim_order"))
      .def(py::init(&explicit_layout), py::arg("device_size"), py::arg("stride_map"),
           py::arg("device_dtype"), py::arg("element_arrangement") = ElementArrangement::Standard)
      .def_property_readonly("device_size",
                             [](const TensorLayout& l) { return as_list(l.device_size()); })
      .def_property_readonly("stride_map",
                             [](const TensorLayout& l) { return as_list(l.stride_map()); })
      .def_property_readonly("device_dtype", &TensorLayout::format)
      .def_property_readonly("element_arrangement", &TensorLayout::arrangement)
      .def_property_readonly(
          "nbytes", [](const TensorLayout& l) { return l.bytes().count; },
          "Device memory, padding included.")
      .def("device_strides", [](const TensorLayout& l) { return as_list(l.device_strides()); })
      .def("elems_per_stick", &TensorLayout::elements_per_stick)
      .def(
          "padding",
          [](const TensorLayout& l, std::int64_t numel) { return l.padding(numel).count; },
          py::arg("numel"), "Bytes that hold no element of a tensor with `numel` elements.")
      .def("with_element_arrangement", &TensorLayout::with_arrangement,
           py::arg("element_arrangement"))
      .def("restickify", &restickify, py::arg("host_size"), py::arg("dim"),
           py::arg("host_strides") = py::none(), "The layout with another dimension in its sticks.")
      .def(
          "__eq__", [](const TensorLayout& a, const TensorLayout& b) { return a == b; },
          py::is_operator())
      .def("__hash__", std::hash<TensorLayout>{})
      .def("__str__", [](const TensorLayout& l) { return str(l); })
      .def("__repr__", [](const TensorLayout& l) { return str(l); })
      .def(py::pickle(&state_of, &from_state));
}

}  // namespace spyre::python
