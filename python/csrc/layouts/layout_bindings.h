// python/csrc/layouts/layout_bindings.h — layouts and number formats, one topic a file.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/device_sim/tiling.h"

namespace spyre::python {

using Sizes = std::vector<std::int64_t>;

void bind_formats(pybind11::module_& module);
void bind_tensor_layout(pybind11::module_& module);
void bind_copy_nests(pybind11::module_& module);

/// A tensor's host sizes and strides; dense ones if none are given.
inline device_sim::HostShape host_shape(const Sizes& sizes, const std::optional<Sizes>& strides) {
  const Dims extents{std::span(sizes)};
  return {extents, strides ? Dims{std::span(*strides)} : contiguous_strides(extents)};
}

inline Sizes as_list(const Dims& dims) { return {dims.begin(), dims.end()}; }

}  // namespace spyre::python
