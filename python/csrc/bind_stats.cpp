// python/csrc/bind_stats.cpp — torch.spyre.stats() as one plain dict.
#include <array>

#include "bindings.h"
#include "spyre/engine/ruling.h"
#include "spyre/engine/runtime.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using engine::Runtime;

py::dict cache(const kernels::CacheCounts& counts) {
  py::dict result;
  result["hits"] = counts.hits;
  result["misses"] = counts.misses;
  result["entries"] = counts.entries;
  result["bytes"] = counts.bytes;
  result["evictions"] = counts.evictions;
  return result;
}

/// One counter for each value of an enumeration, by its name.
template <class Reason, std::size_t count>
py::dict by_name(const std::array<std::uint64_t, count>& counts) {
  py::dict result;
  for (std::size_t i = 0; i < count; ++i) {
    result[py::str(std::string(name_of(static_cast<Reason>(i))))] = counts[i];
  }
  return result;
}

py::dict as_dict(const lazy::Stats& stats, const engine::FallbackCounts& host) {
  constexpr std::uint64_t kPicosecondsPerNanosecond = 1000;
  py::dict fallbacks, result;
  std::uint64_t host_calls = 0;
  for (const auto& [name, count] : host) {
    fallbacks[py::str(name)] = count;
    host_calls += count;
  }
  result["dispatches"] = stats.dispatches + host_calls;
  result["flushes"] = by_name<lazy::FlushReason>(stats.flushes);
  result["plan_cache"] = cache(stats.plan_cache);
  result["plans_predicted"] = stats.plans_predicted;
  result["buffers_made"] = stats.buffers_made;
  result["rulings_made"] = engine::rulings_made();
  result["plan_misses"] = by_name<lazy::MissCause>(stats.plan_misses);
  result["kernel_cache"] = cache(stats.kernel_cache);
  result["library_cache"] = cache(stats.library_cache);
  result["kernels_compiled"] = stats.kernels_compiled;
  result["compile_ns"] = stats.compile_ns;
  result["kernel_launches"] = stats.kernel_launches;
  result["library_launches"] = stats.library_launches;
  result["ops_planned"] = stats.ops_planned;
  result["ops_fused"] = stats.ops_fused;
  result["dead_ops"] = stats.dead_ops;
  result["duplicate_ops"] = stats.duplicate_ops;
  result["graph_replays"] = stats.graph_replays;
  result["relayouts"] = stats.relayouts;
  result["fallbacks"] = fallbacks;
  result["bytes_h2d"] = stats.card.bytes_h2d;
  result["bytes_d2h"] = stats.card.bytes_d2h;
  result["bytes_from_peers"] = stats.card.bytes_from_peers;
  result["bytes_to_peers"] = stats.card.bytes_to_peers;
  result["computes"] = stats.card.computes;
  result["transfers"] = stats.card.transfers;
  result["callbacks"] = stats.card.callbacks;
  result["modelled_ns"] = stats.card.modelled_picoseconds / kPicosecondsPerNanosecond;
  return result;
}

/// All zeros if nothing has started: asking does not start it.
py::dict stats(c10::DeviceIndex device) {
  Runtime* runtime = Runtime::running();
  if (runtime == nullptr) return as_dict({}, {});
  return as_dict(runtime->device(device).stats(), runtime->fallbacks().counts());
}

void reset_stats() {
  Runtime* runtime = Runtime::running();
  if (runtime == nullptr) return;
  for (const auto& entry : runtime->entries()) entry->device.reset_stats();
  runtime->fallbacks().reset();
}

}  // namespace

void bind_stats(py::module_& module) {
  module.def("stats", &stats, py::arg("device") = -1,
             "Counters of a device since start or reset_stats().");
  module.def("reset_stats", &reset_stats, Released(),
             "Sets the counters of every device to zero; caches keep their entries.");
}

}  // namespace spyre::python
