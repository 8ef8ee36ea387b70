// python/csrc/bind_planners.cpp — the card's planners, for those who describe kernels: they start nothing.
#include <pybind11/stl.h>

#include <array>
#include <optional>

#include <tuple>
#include <vector>

#include "bindings.h"
#include "spyre/base/error.h"
#include "spyre/device_sim/work_division.h"
#include "spyre/lazy/scratchpad_plan.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using device_sim::LoopDim;
using device_sim::TensorDims;

using Loop = std::tuple<std::uint64_t, bool, bool>;               // extent, reduction, pinned
using Walk = std::vector<std::pair<std::size_t, std::uint64_t>>;  // loop, bytes of one step
using Tenant = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, bool>;

std::vector<std::uint64_t> divide_loops(const std::vector<Loop>& loops,
                                        const std::vector<Walk>& tensors) {
  std::vector<LoopDim> dims;
  for (const auto& [extent, reduction, pinned] : loops) dims.push_back({extent, reduction, pinned});
  std::vector<TensorDims> walks;
  for (const Walk& tensor : tensors) {
    TensorDims& walk = walks.emplace_back();
    for (const auto& [loop, step] : tensor) {
      if (loop >= dims.size())
        throw InvalidArgument("divide_loops: a tensor walks a loop that is not there");
      walk.push_back({loop, Bytes{step}});
    }
  }
  return device_sim::divide_loops(dims, walks, current_spec());
}

std::array<int, 4> divide_product(std::uint64_t batch, std::uint64_t m, std::uint64_t n,
                                  std::uint64_t k, bool shared_right) {
  const device_sim::CoreSplit split =
      device_sim::divide_product({batch, m, n, k, shared_right}, current_spec().cores);
  return {split.batch, split.m, split.n, split.k};
}

std::pair<std::vector<std::optional<std::uint64_t>>, std::uint64_t> plan_scratchpad(
    const std::vector<Tenant>& tenants) {
  std::vector<lazy::ScratchpadTenant> given;
  for (const auto& [bytes, first, last, in_place] : tenants)
    given.push_back({Bytes{bytes}, first, last, in_place});
  lazy::ScratchpadPlan plan = lazy::plan_scratchpad(given, current_spec().scratchpad_usable);
  return {std::move(plan.offsets), plan.used.count};
}

std::vector<std::uint64_t> slice_of_core(std::uint16_t core,
                                         const std::vector<std::uint64_t>& splits) {
  return device_sim::slice_of_core(CoreId{core}, splits);
}

}  // namespace

void bind_planners(py::module_& module) {
  module.def("divide_loops", &divide_loops, py::arg("loops"), py::arg("tensors"),
             "Over how many cores each loop (extent, reduction, pinned) is divided.");
  module.def("divide_product", &divide_product, py::arg("batch"), py::arg("m"), py::arg("n"),
             py::arg("k"), py::arg("shared_right"), "The cheapest division of a product.");
  module.def("slice_of_core", &slice_of_core, py::arg("core"), py::arg("splits"),
             "Which part of every divided loop a core works on.");
  module.def("plan_scratchpad", &plan_scratchpad, py::arg("tenants"),
             "Offsets of (bytes, first step, last step, in place) in LX, and what is used of it.");
}

}  // namespace spyre::python
