// python/csrc/layouts/bind_formats.cpp — formats, their conversions, and the table of torch types.
#include "layouts/layout_bindings.h"
#include "spyre/device_sim/format_conversion.h"
#include "spyre/engine/data_formats.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::DataFormat;
using device_sim::ElementArrangement;

template <class Enum>
py::enum_<Enum> bind_enum(py::module_& module, const char* name, std::size_t count) {
  py::enum_<Enum> bound(module, name);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    bound.value(std::string(name_of(value)).c_str(), value);
  }
  return bound;
}

std::size_t bytes_of(std::int64_t count, DataFormat format) {
  return (static_cast<std::size_t>(count) * device_sim::bits_of(format) + 7) / 8;
}

/// The elements of `source`, as bytes of another format.
py::bytes convert(const py::buffer& source, DataFormat from, DataFormat to) {
  const device_sim::ConvertRun run = device_sim::conversion(from, to);
  const py::buffer_info info = source.request();
  const std::int64_t bits = info.size * info.itemsize * 8;
  const std::int64_t count = bits / device_sim::bits_of(from);
  if (bits % device_sim::bits_of(from) != 0)
    throw InvalidArgument(str("convert: ", bits / 8, " bytes are not whole elements of ", from));
  std::string target(bytes_of(count, to), '\0');
  run(static_cast<const std::byte*>(info.ptr), reinterpret_cast<std::byte*>(target.data()), count);
  return py::bytes(target);
}

std::vector<std::pair<DataFormat, DataFormat>> conversions() {
  std::vector<std::pair<DataFormat, DataFormat>> pairs;
  for (const device_sim::FormatPair& pair : device_sim::conversions())
    pairs.emplace_back(pair.from, pair.to);
  return pairs;
}

DataFormat host_format(c10::ScalarType type) {
  engine::device_format(type);  // throws if the card does not know the type
  return engine::formats_of(type).host;
}

}  // namespace

void bind_formats(py::module_& module) {
  bind_enum<DataFormat>(module, "DataFormats", device_sim::kDataFormatCount)
      .def("elems_per_stick", &device_sim::elements_per_stick,
           "Elements in a stick of 128 bytes; 0 if the format is not stored in memory.");
  bind_enum<ElementArrangement>(module, "ElementArrangement", device_sim::kElementArrangementCount);
  module.def("get_device_dtype", &engine::device_format, py::arg("dtype"),
             "The format that a torch dtype has on the card.");
  module.def("get_host_dtype", &host_format, py::arg("dtype"),
             "The format that a torch dtype has on the host's side of a transfer.");
  module.def(
      "get_elem_in_stick",
      [](c10::ScalarType type) { return elements_per_stick(engine::device_format(type)); },
      py::arg("dtype"), "Elements of a torch dtype in a stick of the card.");
  module.def("encode_constant", &device_sim::encode_constant, py::arg("value"), py::arg("format"),
             "The bits of a constant in a format to which IEEE_FP32 converts.");
  module.def("conversions", &conversions, "The pairs of formats that a transfer converts.");
  module.def("is_convertible", &device_sim::is_convertible, py::arg("from_format"),
             py::arg("to_format"), "Whether a transfer converts, or copies, such elements.");
  module.def("convert", &convert, py::arg("source"), py::arg("from_format"), py::arg("to_format"),
             "Dense elements of one format as the bytes of another.");
}

}  // namespace spyre::python
