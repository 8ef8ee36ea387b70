// spyre/device_sim/joint_nest.h — loops that walk several arrangements of one index space together.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/device_sim/tiling.h"

namespace spyre::device_sim {

/// Loops over whole extents. Each arrangement has its strides and its offset, in elements.
struct JointNest {
  Dims sizes{};
  std::vector<Dims> strides{};
  std::vector<std::int64_t> offsets{};
};

/// Every index once, nothing else. Each extent is cut by the steps of all arrangements; where a step
/// does not divide it, what remains is a nest of its own; remainders of several dimensions combine.
/// Loops are in the order of the dimensions. nullopt if a tile of the one begins inside a tile of
/// another, or if there are more than kMaxRank loops. Preconditions: equal sizes, at least one arrangement.
std::optional<std::vector<JointNest>> joint_nests(std::span<const Tiling> arrangements);

}  // namespace spyre::device_sim
