// python/csrc/bind_runtime.cpp — start, devices, memory, and the end.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <iostream>

#include "bindings.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/stream_event.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using engine::Runtime;

void synchronize(c10::DeviceIndex device) {
  engine::check_may_wait(device);
  if (Runtime::running() == nullptr && !Runtime::in_bad_fork()) return;
  Runtime::get().device(device).synchronize_all();
}

/// A backward thread lets go of its last task's Python objects after backward() has returned, and dies if the
/// interpreter is gone by then. A task behind it, without Python objects, is reached only once it has.
void wait_for_backward_threads() {
  for (c10::DeviceIndex device = 0; device < engine::device_count(); ++device) {
    try {
      const c10::InferenceMode ordinary(false);  // a program may end in the middle of one
      const c10::AutoGradMode recording(true);
      const at::Tensor nothing = at::empty({0}, at::Device(c10::DeviceType::PrivateUse1, device));
      const at::Tensor leaf = nothing.detach().requires_grad_();
      c10::AutogradState::get_tls_state().set_multithreading_enabled(true);
      leaf.view({0}).backward(nothing);
    } catch (const std::exception& error) {
      std::cerr << "spyre: the backward thread did not answer: " << error.what() << '\n';
    }
  }
}

void drain_at_exit() {
  Runtime* runtime = Runtime::running();
  if (runtime == nullptr) return;
  wait_for_backward_threads();
  runtime->drain_at_exit();
}

std::uint64_t empty_cache() {
  Runtime* runtime = Runtime::running();
  return runtime != nullptr ? runtime->empty_caches().count : 0;
}

void set_hash_mask(unsigned bits) {
  for (const auto& entry : Runtime::get().entries()) entry->device.set_hash_mask(bits);
}

int stream_priority(c10::DeviceIndex device, std::uint32_t stream) {
  return stream == 0 ? engine::StreamPool::kNormal
                     : Runtime::get().entry(device).streams.priority(StreamId{stream});
}

std::uint32_t host_stream(c10::DeviceIndex device) {
  return Runtime::get().entry(device).streams.next(engine::StreamPool::Kind::Host).value;
}

bool stream_faulted(c10::DeviceIndex device, std::uint32_t stream) {
  return Runtime::running() != nullptr && Runtime::get().device(device).faulted(StreamId{stream});
}

bool device_faulted(c10::DeviceIndex device) {
  return Runtime::running() != nullptr && Runtime::get().device(device).faulted();
}

/// Events come by their event_id.
template <double between(void*, void*)>
double milliseconds(std::uintptr_t first, std::uintptr_t second) {
  return between(reinterpret_cast<void*>(first), reinterpret_cast<void*>(second));
}

py::dict memory(c10::DeviceIndex device) {
  const auto stats = Runtime::get().device(device).card().memory_stats();
  py::dict result;
  result["capacity"] = stats.capacity.count;
  result["allocated"] = stats.allocated.count;
  result["reserved"] = stats.reserved.count;
  result["largest_free"] = stats.largest_free.count;
  result["pieces"] = stats.pieces;
  return result;
}

}  // namespace

void bind_runtime(py::module_& module) {
  module.def(
      "is_initialized", [] { return Runtime::running() != nullptr; },
      "Whether anything has used the device.");
  module.def("is_in_bad_fork", &Runtime::in_bad_fork,
             "Whether this process was forked from one that used the device.");
  module.def(
      "start_runtime", [] { Runtime::get(); }, Released(),
      "Starts the device; does nothing if it runs.");
  module.def("device_count", &engine::device_count);
  module.def("current_device", &engine::current_device);
  module.def("exchange_device", &engine::exchange_device,
             "Sets the current device; the previous one.");
  module.def("synchronize", &synchronize, Released(), "Waits for all work of a device.");
  module.def("drain_at_exit", &drain_at_exit, Released());
  module.def("empty_cache", &empty_cache, Released(),
             "Drops every card's cached plans, kernels and free memory; bytes given back.");
  module.def("is_capturing", &engine::is_capturing,
             "Whether the thread's work on a device becomes part of a graph.");
  module.def("stream_priority", &stream_priority);
  module.def("host_stream", &host_stream, Released(), "The next of the host's streams.");
  module.def("stream_faulted", &stream_faulted, Released(),
             "Whether a stream holds a fault that nobody has been told of.");
  module.def("device_faulted", &device_faulted, Released(), "The same of any of its streams.");
  module.def("elapsed_milliseconds", &milliseconds<&engine::modelled_milliseconds_between>,
             Released(), "Modelled time between two events, by their event_id.");
  module.def("wall_milliseconds", &milliseconds<&engine::wall_milliseconds_between>, Released(),
             "The same in this host's time.");
  module.def("device_memory", &memory, py::arg("device") = -1,
             "The card's own account of its memory.");
  module.def("_set_hash_mask", &set_hash_mask, Released(),
             "For tests: keeps only some bits of plan and kernel hashes.");
}

}  // namespace spyre::python
