// python/csrc/bind_timeline.cpp — the card's timeline of both times.
#include "bindings.h"
#include "spyre/engine/runtime.h"

namespace spyre::python {
namespace {

device_sim::Card& card() { return engine::Runtime::get().device(-1).card(); }

void record_timeline(bool on) {
  engine::Runtime::get().device(-1).synchronize_all();
  card().record_timeline(on);
}

std::string timeline_json(bool core_lanes) {
  engine::Runtime::get().device(-1).synchronize_all();
  return card().timeline_json({.core_lanes = core_lanes});
}

std::string report_json(const std::string& what_if) {
  engine::Runtime::get().device(-1).synchronize_all();
  if (what_if.empty()) return card().report_json();
  return card().report_json(device_sim::with_json_overrides(card().spec(), what_if, "what_if"));
}

}  // namespace

void bind_timeline(pybind11::module_& module) {
  module.def("record_timeline", &record_timeline, Released(),
             "Switches recording on (from empty) or off.");
  module.def("timeline_json", &timeline_json, Released(), pybind11::arg("core_lanes") = false,
             "What was recorded, as Chrome trace events; on request with a lane per core.");
  module.def("report_json", &report_json, Released(), pybind11::arg("what_if") = "",
             "What the recorded run's modelled time went into; on request priced on another card.");
}

}  // namespace spyre::python
