// python/csrc/bind_tables.cpp — the tables that docs and tests are derived from.
#include "bindings.h"
#include "spyre/base/env.h"
#include "spyre/base/text.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/schema_library.h"
#include "spyre/kernels/op.h"

namespace spyre::python {
namespace {

namespace py = pybind11;

py::str text(std::string_view view) { return py::str(view.data(), view.size()); }

py::list type_names(DTypeSet types) {
  py::list names;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (types.has(type)) names.append(text(name_of(type)));
  }
  return names;
}

py::list op_table() {
  py::list rows;
  for (const kernels::Op& op : kernels::op_table()) {
    const kernels::OpInfo& info = op.info;
    py::dict row;
    row["name"] = text(info.name);
    row["aten"] = text(info.aten);
    row["arity"] = info.arity;
    row["computes"] = type_names(info.computes);
    row["select"] = text(info.select);
    row["transcendental"] = info.cost == kernels::Cost::Transcendental;
    row["max_ulp"] = info.max_ulp;
    row["cancels"] = info.cancels;
    row["doc"] = text(info.doc);
    rows.append(row);
  }
  return rows;
}

py::list library_table() {
  py::list rows;
  for (const engine::SchemaLibraryRow& entry : engine::schema_library_rows()) {
    py::dict row;
    row["aten"] = text(entry.aten);
    row["faults"] = entry.faults;
    rows.append(row);
  }
  return rows;
}

py::list environment_table() {
  py::list rows;
  for (const EnvRow& entry : env_table()) {
    py::dict row;
    row["name"] = text(entry.name);
    row["default"] = text(entry.fallback);
    row["grammar"] = text(entry.grammar);
    row["example"] = text(entry.example);
    row["meaning"] = text(entry.meaning);
    rows.append(row);
  }
  return rows;
}

py::object environment_value(const std::string& name) {
  for (const EnvRow& row : env_table()) {
    if (row.name != name) continue;
    if (row.grammar == "0|1") return py::bool_(env_switch(row.variable));
    if (row.kind == EnvRow::Kind::Text) return py::str(env_text(row.variable));
  }
  throw InvalidArgument(str("environment_value: no text or switch is called ", name));
}

}  // namespace

device_sim::DeviceSpec current_spec() {
  engine::Runtime* runtime = engine::Runtime::running();
  return runtime != nullptr ? runtime->device(-1).card().spec()
                            : device_sim::device_spec_from_environment();
}

void bind_tables(py::module_& module) {
  module.def("op_table", &op_table, "Every pointwise op: names, types, error bound, meaning.");
  module.def("library_table", &library_table,
             "Every operator that runs as a library operation by its schema alone.");
  module.def("environment_value", &environment_value, py::arg("name"),
             "What a text or a switch is set to, or its default.");
  module.def("environment_table", &environment_table, "Every environment variable.");
  module.def(
      "device_spec_json", [] { return device_sim::to_json(current_spec()); },
      "The card: cores, memory, links, clocks; as SPYRE_DEVICE_SPEC reads it.");
}

}  // namespace spyre::python
