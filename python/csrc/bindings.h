// python/csrc/bindings.h — torch_spyre._C, one topic a file.
#pragma once
#include <pybind11/pybind11.h>

#include <exception>

#include "spyre/device_sim/device_spec.h"

namespace spyre::python {

void bind_runtime(pybind11::module_& module);  // start, devices, streams, memory
void bind_card(pybind11::module_& module);     // memory map, reports, parameters
void bind_memory(pybind11::module_& module);   // where tensors are, and are to be
void bind_random(pybind11::module_& module);
void bind_compiled(pybind11::module_& module);
void bind_settings(pybind11::module_& module);
void bind_stats(pybind11::module_& module);
void bind_timeline(pybind11::module_& module);
void bind_layouts(pybind11::module_& module);  // tensors in the card's layouts
void bind_tables(pybind11::module_& module);   // ops, environment, card
void bind_planners(pybind11::module_& module);

/// Of the running card, or what the environment describes.
device_sim::DeviceSpec current_spec();

/// Errors of ours and of c10 keep their Python types on the way out of bindings.
void register_error_types();
/// For functions that are not bound by pybind11: what was thrown becomes Python's error.
void raise_in_python(const std::exception_ptr& pending);
/// Lets faults name the Python line that recorded them.
void provide_sources();
/// Lets failures be reported (TORCH_SPYRE_FFDC).
void provide_failure_reports();
/// Lets operators that run on the host warn as torch_spyre.ops.fallbacks.FallbackWarning.
void provide_fallback_warnings();
/// Lets a full card have Python's garbage collected.
void provide_garbage_collection();

/// Bound functions that may wait run without the GIL.
using Released = pybind11::call_guard<pybind11::gil_scoped_release>;

}  // namespace spyre::python
