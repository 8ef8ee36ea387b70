// python/csrc/bind_timeline.cpp — a card's timeline of both times.
#include "bindings.h"
#include "spyre/engine/runtime.h"

namespace spyre::python {
namespace {

/// Once what it was given is done.
device_sim::Card& settled_card(c10::DeviceIndex device) {
  lazy::Device& entry = engine::Runtime::get().device(device);
  entry.synchronize_all();
  return entry.card();
}

void record_timeline(bool on, c10::DeviceIndex device) { settled_card(device).record_timeline(on); }

std::string timeline_json(bool core_lanes, c10::DeviceIndex device) {
  return settled_card(device).timeline_json({.core_lanes = core_lanes});
}

std::string report_json(const std::string& what_if, c10::DeviceIndex device) {
  device_sim::Card& card = settled_card(device);
  if (what_if.empty()) return card.report_json();
  return card.report_json(device_sim::with_json_overrides(card.spec(), what_if, "what_if"));
}

}  // namespace

void bind_timeline(pybind11::module_& module) {
  namespace py = pybind11;
  module.def("record_timeline", &record_timeline, Released(), py::arg("on"), py::arg("device") = -1,
             "Switches recording on (from empty) or off.");
  module.def("timeline_json", &timeline_json, Released(), py::arg("core_lanes") = false,
             py::arg("device") = -1,
             "What was recorded, as Chrome trace events; on request with a lane per core.");
  module.def("report_json", &report_json, Released(), py::arg("what_if") = "",
             py::arg("device") = -1,
             "What the recorded run's modelled time went into; on request priced on another card.");
}

}  // namespace spyre::python
