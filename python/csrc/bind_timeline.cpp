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

std::string timeline_json() {
  engine::Runtime::get().device(-1).synchronize_all();
  return card().timeline_json();
}

}  // namespace

void bind_timeline(pybind11::module_& module) {
  module.def("record_timeline", &record_timeline, Released(),
             "Switches recording on (from empty) or off.");
  module.def("timeline_json", &timeline_json, Released(),
             "What was recorded, as Chrome trace events.");
}

}  // namespace spyre::python
