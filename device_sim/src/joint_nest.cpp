// spyre/device_sim/joint_nest.cpp — each dimension alone becomes one or more pieces (whole tiles, and what remains of
// the last one); a nest is one piece of every dimension.
#include "spyre/device_sim/joint_nest.h"

#include <algorithm>

#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

using Strides = std::vector<std::int64_t>;  // by arrangement

/// One loop of all arrangements. `step`: what it adds to the index.
struct Level {
  std::int64_t step;
  Strides strides;
};

/// What a step along the index adds to the place in memory; nullopt if it ends inside a tile.
std::optional<std::int64_t> stride_of_step(std::span<const Tile> tiles, std::int64_t step) {
  const auto tile = std::ranges::find_if(tiles, [&](const Tile& t) { return t.step <= step; });
  if (tile == tiles.end() || step % tile->step != 0) return std::nullopt;
  return step / tile->step * tile->stride;
}

std::optional<std::vector<Level>> common_levels(std::span<const Tiling> arrangements,
                                                std::size_t dim) {
  std::vector<std::int64_t> steps;
  for (const Tiling& arrangement : arrangements)
    for (const Tile& tile : arrangement.tiles(dim)) steps.push_back(tile.step);
  std::ranges::sort(steps, std::ranges::greater{});
  steps.erase(std::ranges::unique(steps).begin(), steps.end());
  std::vector<Level> levels;
  for (const std::int64_t step : steps) {
    Level level{.step = step, .strides = {}};
    for (const Tiling& arrangement : arrangements) {
      const auto stride = stride_of_step(arrangement.tiles(dim), step);
      if (!stride) return std::nullopt;
      level.strides.push_back(*stride);
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

/// The nests of `extent` indices of one dimension, each beginning as `begun` does.
void cut(std::span<const Level> levels, std::int64_t extent, JointNest begun,
         std::vector<JointNest>& nests) {
  if (levels.empty()) return nests.push_back(std::move(begun));
  const Level& level = levels.front();
  const std::int64_t whole = extent / level.step, rest = extent % level.step;
  if (whole != 0) {
    JointNest nest = begun;
    if (whole != 1) {
      nest.sizes.push_back(whole);
      for (std::size_t i = 0; i < nest.strides.size(); ++i)
        nest.strides[i].push_back(level.strides[i]);
    }
    cut(levels.subspan(1), level.step, std::move(nest), nests);
  }
  if (rest == 0) return;
  for (std::size_t i = 0; i < begun.offsets.size(); ++i)
    begun.offsets[i] += whole * level.strides[i];
  cut(levels.subspan(1), rest, std::move(begun), nests);
}

}  // namespace

std::optional<std::vector<JointNest>> joint_nests(std::span<const Tiling> arrangements) {
  const Dims& sizes = arrangements.front().sizes();
  for (const Tiling& arrangement : arrangements)
    ensure(arrangement.sizes() == sizes, "arrangements walked together have the same extents");
  if (sizes.numel() == 0) return std::vector<JointNest>{};
  const std::size_t count = arrangements.size();
  std::vector<JointNest> nests{
      {.strides = std::vector<Dims>(count), .offsets = std::vector<std::int64_t>(count)}};
  std::size_t loops = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    const auto levels = common_levels(arrangements, d);
    if (!levels) return std::nullopt;
    loops += levels->size();
    if (loops > kMaxRank) return std::nullopt;
    std::vector<JointNest> continued;
    for (JointNest& nest : nests) cut(*levels, sizes[d], std::move(nest), continued);
    nests = std::move(continued);
  }
  return nests;
}

}  // namespace spyre::device_sim
