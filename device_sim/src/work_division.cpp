// spyre/device_sim/work_division.cpp — spans, then products by cost, then what is left by size.
//
// Only whole parts: a division must divide its extent, so that all cores have the same to do. What
// the planner's cost leaves out is priced all the same: a bad division costs what it costs.
#include "spyre/device_sim/work_division.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr std::uint64_t kStick = 64;  // fp16 elements
constexpr std::uint64_t kPassRows = 8;
constexpr double kFullPasses = 5, kPassExponent = 0.25;
constexpr double kPlannerMacsPerUs = 1.536e6, kPlannerGbPerS = 204.8, kPlannerFanOut = 8,
                 kPlannerFanOutExponent = 0.75;
constexpr double kPartialSumUs = 1e-3, kBatchedPartialSumUs = 1e-4;
constexpr double kIdleHalf = 150, kShortTile = 30, kWideTile = 25, kBatchSplit = 10;
constexpr double kTileRows = 16, kTileColumns = 512;

std::uint64_t largest_divisor(std::uint64_t extent, std::uint64_t at_most) {
  for (std::uint64_t d = std::min(extent, at_most); d > 1; --d)
    if (extent % d == 0) return d;
  return 1;
}

std::uint64_t product_of(std::span<const std::uint64_t> splits) {
  return std::accumulate(splits.begin(), splits.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Divides loops as far as each tensor's span demands.
class SpanReduction {
 public:
  SpanReduction(std::span<const LoopDim> loops, const DeviceSpec& spec,
                std::vector<std::uint64_t>& splits)
      : loops_(loops), spec_(spec), splits_(splits) {}

  void reduce(const TensorDims& tensor) {
    for (const TensorDim& dim : tensor) {
      if (span_of(tensor) <= spec_.max_core_span.count) return;
      divide(tensor, dim.loop);
    }
    if (span_of(tensor) <= spec_.max_core_span.count) return;
    throw Unsupported(str("work division: a core would span ", Bytes{span_of(tensor)},
                          " of one tensor; expected at most ", spec_.max_core_span, " with ",
                          spec_.cores, " cores"));
  }

 private:
  /// Positions that a core touches in the outermost dimension it has more than one of.
  std::uint64_t span_of(const TensorDims& tensor) const {
    for (const TensorDim& dim : tensor) {
      const std::uint64_t positions = loops_[dim.loop].extent / splits_[dim.loop];
      if (positions > 1) return positions * dim.step.count;
    }
    return tensor.empty() ? 0 : tensor.back().step.count;
  }

  bool reduction_is_divided() const {
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].reduction && splits_[i] > 1) return true;
    return false;
  }

  /// The fewest parts that make the span legal, or else as many as there can be.
  void divide(const TensorDims& tensor, std::size_t loop) {
    const LoopDim& dim = loops_[loop];
    if (dim.pinned || (dim.reduction && reduction_is_divided())) return;
    const std::uint64_t others = product_of(splits_) / splits_[loop];
    const auto most = static_cast<std::uint64_t>(spec_.cores) / others;
    for (std::uint64_t parts = splits_[loop]; parts <= std::min(most, dim.extent); ++parts) {
      if (dim.extent % parts != 0) continue;
      splits_[loop] = parts;
      if (span_of(tensor) <= spec_.max_core_span.count) return;
    }
  }

  std::span<const LoopDim> loops_;
  const DeviceSpec& spec_;
  std::vector<std::uint64_t>& splits_;
};

std::vector<std::size_t> loops_by_size(std::span<const LoopDim> loops, bool reduction) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (loops[i].reduction == reduction && !loops[i].pinned) order.push_back(i);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return loops[a].extent > loops[b].extent; });
  return order;
}

double over(double value, double limit) { return value > limit ? std::log2(value / limit) : 0; }

std::uint64_t sticks(std::uint64_t extent) { return (extent + kStick - 1) / kStick; }

std::vector<std::uint8_t> divisors(std::uint64_t extent, int at_most) {
  std::vector<std::uint8_t> all;
  for (int d = 1; d <= at_most; ++d)
    if (extent % static_cast<std::uint64_t>(d) == 0) all.push_back(static_cast<std::uint8_t>(d));
  return all;
}

double penalty_us(const ProductShape& p, const CoreSplit& split, int cores) {
  const double rows = static_cast<double>(p.m) / split.m;
  const double columns = static_cast<double>(p.n) / split.n;
  return kIdleHalf * std::log2(static_cast<double>(cores) / split.cores()) +
         kShortTile * over(kTileRows, rows) + kWideTile * over(columns, kTileColumns) +
         kBatchSplit * std::log2(static_cast<double>(split.batch));
}

}  // namespace

std::vector<std::uint64_t> divide_loops(std::span<const LoopDim> loops,
                                        std::span<const TensorDims> tensors,
                                        const DeviceSpec& spec) {
  std::vector<std::uint64_t> splits(loops.size(), 1);
  SpanReduction spans(loops, spec, splits);
  for (const TensorDims& tensor : tensors) spans.reduce(tensor);
  const auto cores = static_cast<std::uint64_t>(spec.cores);
  for (const std::size_t i : loops_by_size(loops, false)) {
    const std::uint64_t left = cores / product_of(splits);
    splits[i] *= largest_divisor(loops[i].extent / splits[i], left);
  }
  const std::vector<std::size_t> reductions = loops_by_size(loops, true);
  const bool divided_already =
      std::ranges::any_of(reductions, [&](std::size_t i) { return splits[i] > 1; });
  if (reductions.empty() || divided_already) return splits;
  const std::size_t longest = reductions.front();
  splits[longest] = largest_divisor(loops[longest].extent, cores / product_of(splits));
  return splits;
}

double planner_cost(const ProductShape& p, const CoreSplit& split, int cores) {
  const double rows = static_cast<double>(p.m) / split.m;
  const double passes = std::max(1.0, rows / static_cast<double>(kPassRows));
  const double efficiency = std::min(1.0, std::pow(passes / kFullPasses, kPassExponent));
  const double compute =
      static_cast<double>(p.macs()) / (split.cores() * kPlannerMacsPerUs * efficiency);
  const std::uint64_t rights = p.shared_right ? 1 : p.batch;
  const std::uint64_t bytes = 2 * (p.batch * p.m * (p.k + p.n) + rights * p.k * p.n);
  const double fan_out = p.shared_right ? std::max(split.m, split.n) : split.n;
  const double cohort = std::pow(std::max(1.0, fan_out / kPlannerFanOut), kPlannerFanOutExponent);
  const double memory = static_cast<double>(bytes) / (kPlannerGbPerS * 1000) * cohort;
  const double per_core =
      static_cast<double>(p.batch * p.m * p.n) / (split.batch * split.m * split.n);
  const double sums =
      (split.k - 1) * per_core * (p.batch > 1 ? kBatchedPartialSumUs : kPartialSumUs);
  return compute + memory + sums + penalty_us(p, split, cores);
}

CoreSplit divide_product(const ProductShape& p, int cores) {
  CoreSplit best{1, 1, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint8_t batch : divisors(p.batch, cores))
    for (const std::uint8_t m : divisors(p.m, cores / batch))
      for (const std::uint8_t n : divisors(sticks(p.n), cores / (batch * m)))
        for (const std::uint8_t k : divisors(sticks(p.k), cores / (batch * m * n))) {
          const CoreSplit split{batch, m, n, k};
          const double cost = planner_cost(p, split, cores);
          if (cost >= least) continue;
          least = cost;
          best = split;
        }
  return best;
}

std::vector<std::uint64_t> slice_of_core(CoreId core, std::span<const std::uint64_t> splits) {
  std::vector<std::uint64_t> slice;
  std::uint64_t before = 1;
  for (const std::uint64_t parts : splits) {
    slice.push_back(core.value / before % parts);
    before *= parts;
  }
  return slice;
}

Work divided(Work work, int cores) {
  work.split = work.product.known() ? divide_product(work.product, cores) : CoreSplit{};
  return work;
}

}  // namespace spyre::device_sim
