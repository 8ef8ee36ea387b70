// python/csrc/module.cpp — torch_spyre._C: the device. Loading it registers kernels and starts nothing.
#include <ATen/core/CachingHostAllocator.h>

#include "awake.h"
#include "bindings.h"
#include "interruptions.h"
#include "spyre/engine/activity_profiler.h"
#include "spyre/engine/allocator.h"
#include "spyre/engine/graph_capture.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/hooks.h"
#include "spyre/engine/pinned_memory.h"

namespace spyre::python {
namespace {

/// From here on PyTorch asks us instead of the dormant device.
void take_over() {
  constexpr c10::DeviceType kSpyre = c10::DeviceType::PrivateUse1;
  constexpr std::uint8_t kAboveDormant = 1;
  const auto light = pybind11::module_::import("torch_spyre._hooks");
  auto* awake = static_cast<Awake*>(pybind11::capsule(light.attr("awake")).get_pointer());
  c10::impl::DeviceGuardImplRegistrar(kSpyre, &engine::device_guard());
  c10::SetAllocator(kSpyre, &engine::device_allocator(), kAboveDormant);
  at::setHostAllocator(kSpyre, &engine::pinned_allocator());
  engine::set_visible_cards(awake->visible_cards);
  *awake = {.visible_cards = awake->visible_cards,
            .hooks = &engine::hooks(),
            .guard = &engine::device_guard(),
            .allocator = &engine::device_allocator(),
            .profiler = &engine::activity_profiler(),
            .make_graph = &engine::make_graph};
}

}  // namespace
}  // namespace spyre::python

PYBIND11_MODULE(_C, module) {
  using namespace spyre::python;
  module.doc() = "The spyre device: kernels, runtime, counters. Loading it starts nothing.";
  register_error_types();
  provide_sources();
  provide_garbage_collection();
  provide_failure_reports();
  provide_interruptions();
  provide_fallback_warnings();
  bind_runtime(module);
  bind_card(module);
  bind_memory(module);
  bind_random(module);
  bind_compiled(module);
  bind_settings(module);
  bind_stats(module);
  bind_timeline(module);
  bind_tables(module);
  bind_planners(module);
  bind_layouts(module);
  take_over();
}
