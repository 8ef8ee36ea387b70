// python/csrc/bind_card.cpp — the card's memory map, and what its time model rests on.
#include <array>

#include "bindings.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/price_rules.h"
#include "spyre/engine/runtime.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::MemoryType;

py::list block_rows(const std::vector<device_sim::Block>& blocks) {
  constexpr std::array kStates{"active_allocated", "inactive", "inactive"};
  py::list rows;
  for (const device_sim::Block& block : blocks) {
    py::dict row;
    row["address"] = block.offset.count;
    row["size"] = block.length.count;
    row["state"] = kStates[static_cast<std::size_t>(block.state)];
    rows.append(std::move(row));
  }
  return rows;
}

/// In torch.cuda's words, and what only this card has.
py::dict segment_row(c10::DeviceIndex device, const device_sim::RegionSnapshot& region) {
  py::dict row;
  row["device"] = device;
  row["segment"] = region.region.value;
  row["address"] = 0;
  row["total_size"] = region.length.count;
  row["allocated_size"] = region.allocated.count;
  row["active_size"] = region.allocated.count;
  row["segment_type"] = region.type == MemoryType::Program ? "program" : "tensor";
  row["handle"] = region.handle;
  row["domain"] = region.domain;
  row["committed_size"] = region.committed.count;
  row["largest_free"] = region.largest_free.count;
  row["blocks"] = block_rows(region.blocks);
  return row;
}

py::list memory_snapshot(c10::DeviceIndex device) {
  py::list rows;
  for (const auto& region : engine::Runtime::get().device(device).card().memory_snapshot())
    rows.append(segment_row(device, region));
  return rows;
}

py::list device_parameters() {
  py::list rows;
  for (const device_sim::DeviceParameter& parameter : device_sim::device_parameters()) {
    py::dict row;
    row["name"] = parameter.name;
    row["unit"] = parameter.unit;
    row["calibrated"] = parameter.calibrated;
    row["datasheet"] = parameter.datasheet;
    row["mark"] = parameter.mark;
    row["source"] = parameter.source;
    rows.append(std::move(row));
  }
  return rows;
}

py::list price_rules() {
  py::list rows;
  for (const device_sim::RuleRow& rule : device_sim::price_rules()) {
    py::dict row;
    row["name"] = rule.name;
    row["formula"] = rule.formula;
    row["mark"] = std::string(1, rule.mark);
    row["source"] = rule.source;
    rows.append(std::move(row));
  }
  return rows;
}

/// Empty if nothing has started: asking does not start it.
py::dict meters(c10::DeviceIndex device) {
  py::dict values;
  if (engine::Runtime::running() == nullptr) return values;
  const device_sim::Meters& meters = engine::Runtime::get().meters(device);
  for (std::size_t i = 0; i < device_sim::kMeterCount; ++i) {
    const auto meter = static_cast<device_sim::Meter>(i);
    values[py::str(std::string(name_of(meter)))] = meters[meter];
  }
  return values;
}

device_sim::FaultSite site_named(const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < device_sim::kFaultSiteCount; ++i) {
    const auto site = static_cast<device_sim::FaultSite>(i);
    if (name_of(site) == name) return site;
    known += str(i == 0 ? "" : ", ", name_of(site));
  }
  throw InvalidArgument(str("inject_faults: got \"", name, "\"; expected one of ", known));
}

void inject_fault(c10::DeviceIndex device, const std::string& site, std::uint64_t after,
                  std::uint64_t times) {
  const device_sim::FaultSite where = site_named(site);
  engine::Runtime::get().device(device).card().fault_injector().arm(where, after, times);
}

/// Nothing is raised, and the modelled host does not wait.
void drain(c10::DeviceIndex device) { engine::Runtime::get().device(device).card().drain_all(); }

std::uint64_t stop_injecting(c10::DeviceIndex device) {
  return engine::Runtime::get().device(device).card().fault_injector().disarm();
}

}  // namespace

void bind_card(py::module_& module) {
  module.def("memory_snapshot", &memory_snapshot, "Every region of device memory, block by block.");
  module.def("meters", &meters, "What a card has done since it started, by name.");
  module.def("device_parameters", &device_parameters,
             "Parameters of a card: values of both profiles, and their sources.");
  module.def("inject_fault", &inject_fault, Released(),
             "Makes some operations of a kind fail, after so many more of them.");
  module.def("drain", &drain, Released(), "Waits for what has been submitted; raises nothing.");
  module.def("stop_injecting", &stop_injecting, Released(), "How many have failed.");
  module.def("price_rules", &price_rules, "The rules of the time model, and their sources.");
}

}  // namespace spyre::python
