// spyre/device_sim/restickify.h — the same tensor with another dimension in its sticks.
#pragma once
#include <cstdint>
#include <optional>

#include "spyre/device_sim/tensor_layout.h"
#include "spyre/device_sim/tiling.h"

namespace spyre::device_sim {

/// Which dimension lies in the sticks; nullopt if none does (one element per stick).
std::optional<std::size_t> stick_dim(const TensorLayout& layout, const HostShape& shape);

/// The layout with `dim` in its sticks instead: the two dimensions change places. Throws Unsupported
/// if the layout is not a derived one (one dimension in the sticks, every other in one device
/// dimension). device_to_device() gives the copy.
TensorLayout restickified(const TensorLayout& layout, const HostShape& shape, std::size_t dim);

/// Elements that the copy passes over, padding included.
std::int64_t restickify_cost(const TensorLayout& layout);

}  // namespace spyre::device_sim
