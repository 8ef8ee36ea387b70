// python/csrc/bind_settings.cpp — what torch.spyre.config() reads and writes.
#include <array>

#include "bindings.h"
#include "spyre/base/text.h"
#include "spyre/engine/runtime.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using engine::Runtime;

struct Option {
  const char* name;
  py::object (*read)(const lazy::Settings& settings);
  void (*write)(lazy::Settings& settings, const py::object& value);
};

std::string text(const py::object& value) { return py::cast<std::string>(value); }
py::object word(std::string_view name) { return py::str(std::string(name)); }

const std::array kOptions{
    Option{"mode", [](const lazy::Settings& s) { return word(engine::name_of(s.mode)); },
           [](lazy::Settings& s, const py::object& v) { s.mode = engine::mode_named(text(v)); }},
    Option{"exec", [](const lazy::Settings& s) { return word(engine::name_of(s.execution)); },
           [](lazy::Settings& s, const py::object& v) {
             s.execution = engine::execution_named(text(v));
           }},
    Option{"isa", [](const lazy::Settings& s) { return word(engine::name_of(s.isa)); },
           [](lazy::Settings& s, const py::object& v) { s.isa = engine::isa_named(text(v)); }},
    Option{"numerics", [](const lazy::Settings& s) { return word(engine::name_of(s.numerics)); },
           [](lazy::Settings& s, const py::object& v) {
             s.numerics = engine::numerics_named(text(v));
           }},
    Option{"passes", [](const lazy::Settings& s) { return word(s.passes); },
           [](lazy::Settings& s, const py::object& v) { s.passes = text(v); }},
    Option{"verify", [](const lazy::Settings& s) -> py::object { return py::bool_(s.verify); },
           [](lazy::Settings& s, const py::object& v) { s.verify = py::cast<bool>(v); }},
    Option{"sync", [](const lazy::Settings& s) -> py::object { return py::bool_(s.sync); },
           [](lazy::Settings& s, const py::object& v) { s.sync = py::cast<bool>(v); }},
    Option{"dump", [](const lazy::Settings& s) { return word(s.dump_directory); },
           [](lazy::Settings& s, const py::object& v) { s.dump_directory = text(v); }},
    Option{
        "max_nodes", [](const lazy::Settings& s) -> py::object { return py::int_(s.max_nodes); },
        [](lazy::Settings& s, const py::object& v) { s.max_nodes = py::cast<std::uint32_t>(v); }},
    Option{"max_pending",
           [](const lazy::Settings& s) -> py::object { return py::int_(s.max_pending.count); },
           [](lazy::Settings& s, const py::object& v) {
             s.max_pending = {py::cast<std::uint64_t>(v)};
           }},
};

constexpr const char* kFallback = "fallback";

py::dict settings() {
  Runtime& runtime = Runtime::get();
  const lazy::Settings current = runtime.settings();
  py::dict result;
  for (const Option& option : kOptions) result[option.name] = option.read(current);
  result[kFallback] = word(engine::name_of(runtime.fallback_policy()));
  return result;
}

const Option& option_named(const std::string& name) {
  for (const Option& option : kOptions) {
    if (name == option.name) return option;
  }
  std::string known = kFallback;
  for (const Option& option : kOptions) known += str(", ", option.name);
  throw InvalidArgument(str("config: no option \"", name, "\"; expected one of ", known));
}

void configure(const py::dict& changes) {
  Runtime& runtime = Runtime::get();
  lazy::Settings changed = runtime.settings();
  engine::FallbackPolicy policy = runtime.fallback_policy();
  for (const auto& [key, value] : changes) {
    const auto name = py::cast<std::string>(key);
    const auto object = py::reinterpret_borrow<py::object>(value);
    if (name == kFallback) policy = engine::fallback_policy_named(text(object));
    else option_named(name).write(changed, object);
  }
  const py::gil_scoped_release released;
  runtime.configure(changed);
  runtime.set_fallback_policy(policy);
}

}  // namespace

void bind_settings(py::module_& module) {
  module.def("settings", &settings, "The settings in force, by option name.");
  module.def("configure", &configure, "Changes the given options; flushes first.");
}

}  // namespace spyre::python
