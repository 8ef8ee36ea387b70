// python/csrc/layouts/bind_copy_nests.cpp — copies between arrangements as lists of dicts, and device coordinates as text.
#include "layouts/layout_bindings.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/copy_nest.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::CopyNest;
using device_sim::HostShape;
using device_sim::TensorLayout;

py::list as_dicts(const std::vector<CopyNest>& nests) {
  py::list rows;
  for (const CopyNest& nest : nests) {
    py::dict row;
    row["size"] = as_list(nest.sizes);
    row["stride_src"] = as_list(nest.source_strides);
    row["stride_dst"] = as_list(nest.target_strides);
    row["offset_src"] = nest.source_offset;
    row["offset_dst"] = nest.target_offset;
    rows.append(row);
  }
  return rows;
}

py::list host_to_device(const TensorLayout& layout, const Sizes& size,
                        const std::optional<Sizes>& stride) {
  const HostShape shape = host_shape(size, stride);
  return as_dicts(device_sim::host_to_device(layout, shape, shape.strides));
}

py::list device_to_host(const TensorLayout& layout, const Sizes& size,
                        const std::optional<Sizes>& stride) {
  const HostShape shape = host_shape(size, stride);
  return as_dicts(device_sim::device_to_host(layout, shape, shape.strides));
}

py::list device_to_device(const TensorLayout& source, const TensorLayout& target, const Sizes& size,
                          const std::optional<Sizes>& stride) {
  const auto nests = device_sim::device_to_device(source, target, host_shape(size, stride));
  if (!nests)
    throw Unsupported(str("layout: no direct copy of size ", Dims{std::span(size)}, " from ",
                          source, " to ", target));
  return as_dicts(*nests);
}

std::vector<std::string> coordinates(const TensorLayout& layout, const Sizes& size,
                                     const std::optional<Sizes>& stride) {
  const auto found = device_sim::device_coordinates(layout, host_shape(size, stride));
  if (!found)
    throw InvalidArgument(
        str("layout: ", layout, " does not hold a tensor of size ", Dims{std::span(size)}));
  std::vector<std::string> texts;
  for (const device_sim::Coordinate& coordinate : *found) texts.push_back(str(coordinate));
  return texts;
}

}  // namespace

void bind_copy_nests(py::module_& module) {
  const auto strides = py::arg("host_strides") = py::none();
  module.def("host_to_device", &host_to_device, py::arg("layout"), py::arg("host_size"), strides,
             "The loop nests that bring a host tensor into the layout.");
  module.def("device_to_host", &device_to_host, py::arg("layout"), py::arg("host_size"), strides,
             "The loop nests that bring a tensor out of the layout.");
  module.def("device_to_device", &device_to_device, py::arg("source"), py::arg("target"),
             py::arg("host_size"), strides,
             "The loop nests from one layout of a tensor to another.");
  module.def("device_coordinates", &coordinates, py::arg("layout"), py::arg("host_size"), strides,
             "Each device dimension's coordinate, in terms of the tensor's indices.");
}

}  // namespace spyre::python
