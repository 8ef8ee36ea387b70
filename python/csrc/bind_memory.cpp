// python/csrc/bind_memory.cpp — where on a card memory is, and where it is to be.
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/tensor.h"

namespace spyre::python {
namespace {

namespace py = pybind11;

/// A policy's name and memory domains.
using DirectiveWords = std::tuple<std::string, std::vector<std::uint16_t>>;

DirectiveWords exchange_directive(c10::DeviceIndex device, const std::string& policy,
                                  std::vector<std::uint16_t> domains) {
  const device_sim::Directive previous = engine::Runtime::get().device(device).exchange_directive(
      {device_sim::memory_policy_named(policy), std::move(domains)});
  return {std::string(name_of(previous.policy)), previous.domains};
}

py::list memory_pieces(const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(tensor.defined() && tensor.is_privateuseone() && tensor.has_storage(),
                   "pieces: expected a strided tensor on spyre; of a sparse one, ask for its "
                   "indices() and values()");
  lazy::Device& device = engine::lazy_device(tensor);
  std::vector<device_sim::Piece> pieces;
  {
    const py::gil_scoped_release released;
    pieces = device.pieces_of(engine::current_stream(tensor.device()), engine::buffer_of(tensor));
  }
  py::list rows;
  for (const device_sim::Piece& piece : pieces) {
    const device_sim::LogicalAddress address = device.card().logical_address(piece);
    py::dict row;
    row["domain"] = device.card().domain_of(piece);
    row["segment"] = piece.region.value;
    row["handle"] = address.region_handle;
    row["address"] = address.offset.count;
    row["size"] = piece.length.count;
    rows.append(std::move(row));
  }
  return rows;
}

}  // namespace

void bind_memory(py::module_& module) {
  module.def(
      "exchange_directive", &exchange_directive, py::arg("device"), py::arg("policy"),
      py::arg("domains"), Released(),
      "Sets how memory is placed that this thread asks for; the previous policy and domains.");
  module.def("memory_pieces", &memory_pieces, py::arg("tensor"),
             "The pieces of device memory that a tensor's storage has, in order.");
}

}  // namespace spyre::python
