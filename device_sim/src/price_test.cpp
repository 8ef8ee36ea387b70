// spyre/device_sim/price_test.cpp — golden times, and how prices must move.
#include "price.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spyre::device_sim {
namespace {

using Pattern = Work::Pattern;

double microseconds(const Work& work, const DeviceSpec& spec = {}) {
  return static_cast<double>(compute_price(work, spec).count) * 1e-6;
}

Work product(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  return {.bytes_read = 2 * (m * k + k * n),
          .bytes_written = 2 * m * n,
          .macs = m * n * k,
          .pattern = Pattern::Product,
          .rows = m};
}

TEST(Price, SoftmaxOnTheCalibratedCard) {
  constexpr std::uint64_t kBytes = 4096 * 2048 * 2;
  EXPECT_NEAR(microseconds({.bytes_read = kBytes, .bytes_written = kBytes}), 320.0, 0.05);
}

TEST(Price, AddOfTwoMatrices) {
  constexpr std::uint64_t kBytes = 512 * 4096 * 2;
  EXPECT_NEAR(microseconds({.bytes_read = 2 * kBytes, .bytes_written = kBytes}), 108, 0.5);
}

TEST(Price, UnfusedSoftmaxReadsFiveTimes) {
  constexpr std::uint64_t kBytes = 512 * 4096 * 2;
  EXPECT_NEAR(microseconds({.bytes_read = 5 * kBytes, .bytes_written = 3 * kBytes}), 296, 0.5);
}

TEST(Price, Transfers) {
  const DeviceSpec spec;
  const Operation upload{.what = HostToDevice{.target = {.length = {54'500'000}}}};
  const Operation download{.what = DeviceToHost{.source = {.length = {13'100'000}}}};
  EXPECT_NEAR(static_cast<double>(price(upload, spec).count) * 1e-9, 1.82, 0.005);
  EXPECT_NEAR(static_cast<double>(price(download, spec).count) * 1e-9, 0.33, 0.005);
}

TEST(Price, ProductsStayCloseToTheCard) {
  struct Row {
    std::uint64_t m, n, k;
    double measured;
  };
  const Row rows[] = {{512, 4096, 4096, 317},  {512, 1024, 4096, 89}, {512, 12800, 4096, 1017},
                      {512, 4096, 12800, 899}, {64, 4096, 4096, 221}, {64, 1024, 4096, 60},
                      {64, 12800, 4096, 705},  {64, 4096, 12800, 685}};
  double squares = 0;
  for (const Row& row : rows) {
    const double error = microseconds(product(row.m, row.n, row.k)) / row.measured - 1;
    EXPECT_LT(std::abs(error), 0.15) << row.m << "x" << row.n << "x" << row.k;
    squares += error * error;
  }
  EXPECT_LT(std::sqrt(squares / std::size(rows)), 0.08);
}

TEST(Price, GrowsWithBytesMacsAndLanes) {
  const Work base{
      .bytes_read = 1 << 20, .bytes_written = 1 << 20, .macs = 1 << 20, .lane_ops = 1 << 20};
  for (const Pattern pattern : {Pattern::Stream, Pattern::RowReduction, Pattern::ColumnReduction,
                                Pattern::Broadcast, Pattern::Relayout, Pattern::Product}) {
    Work work = base, more_bytes = base, more_macs = base, more_lanes = base;
    work.pattern = more_bytes.pattern = more_macs.pattern = more_lanes.pattern = pattern;
    more_bytes.bytes_read *= 100;
    more_macs.macs <<= 20;
    more_lanes.lane_ops <<= 20;
    EXPECT_LT(microseconds(work), microseconds(more_bytes));
    EXPECT_LT(microseconds(work), microseconds(more_macs));
    EXPECT_LT(microseconds(work), microseconds(more_lanes));
  }
}

TEST(Price, FewCoresSlowReductionsDown) {
  const Work work{
      .bytes_read = 1 << 24, .bytes_written = 4096, .pattern = Pattern::RowReduction, .rows = 4096};
  double previous = 0;
  for (const int cores : {32, 16, 7, 4, 1}) {
    DeviceSpec spec;
    spec.cores = cores;
    EXPECT_GT(microseconds(work, spec), previous) << cores;
    previous = microseconds(work, spec);
  }
}

TEST(Price, UtilisationIsIdealOverElapsed) {
  const Picoseconds elapsed{1'486'000'000};
  EXPECT_NEAR(matrix_utilisation(product(512, 4096, 4096), {}, elapsed), 0.1604, 0.0001);
  EXPECT_EQ(matrix_utilisation({}, {}, {}), 0);
}

TEST(Price, PartsAddUpAndTheLargestIsNamed) {
  const Work memory_bound{.bytes_read = 1 << 24, .bytes_written = 1 << 20, .lane_ops = 1000};
  const Price price = price_of(memory_bound, {});
  EXPECT_EQ(price.bound, Bound::Memory);
  EXPECT_EQ(row_of(price.rule).name, "memory");
  EXPECT_EQ(price.total, price.memory);
  EXPECT_EQ(price_of({.lane_ops = 1 << 30}, {}).bound, Bound::Vector);
  EXPECT_EQ(price_of(product(4096, 4096, 4096), {}).bound, Bound::Matrix);
  EXPECT_EQ(price_of({.bytes_ring = 1 << 20}, {}).bound, Bound::Ring);
  EXPECT_EQ(name_of(Bound::Ring), "ring");
}

TEST(Price, PaddingMovesAndWhatIsPassedOnOnlyWithoutPlannedScratchpads) {
  const Work work{.bytes_read = 1000,
                  .bytes_written = 100,
                  .padding_read = 24,
                  .padding_written = 28,
                  .passed_read = 5000,
                  .passed_written = 500};
  DeviceSpec spec;
  EXPECT_EQ(traffic_of(work, spec).read, 1024U);
  EXPECT_EQ(traffic_of(work, spec).written, 128U);
  const Picoseconds planned = compute_price(work, spec);
  spec.scratchpad_planning = 0;
  EXPECT_EQ(traffic_of(work, spec).both(), 1024U + 128 + 5500);
  EXPECT_GT(compute_price(work, spec), planned);
}

TEST(Price, NarrowFormatsMultiplyFaster) {
  Work work = product(4096, 4096, 4096);
  const Picoseconds fp16 = price_of(work, {}).matrix;
  work.mac_format = MacFormat::Int4;
  EXPECT_NEAR(
      static_cast<double>(fp16.count) / static_cast<double>(price_of(work, {}).matrix.count), 8,
      1e-6);
}

TEST(Price, ConvertingOnTheHostIsPartOfItsCallback) {
  const DeviceSpec spec;
  const auto us = [&](std::uint64_t bytes) {
    return static_cast<double>(
               price({.what = HostCallback{}, .work = {.bytes_converted = bytes}}, spec).count) *
           1e-6;
  };
  EXPECT_NEAR(us(7'000'000), 1005, 0.01);
  EXPECT_NEAR(us(35'000'000), 10'005, 0.01) << "large weights convert at half the speed";
}

TEST(Price, TheDatasheetIsFaster) {
  const DeviceSpec sheet = device_profile("datasheet");
  EXPECT_NEAR(microseconds(product(512, 4096, 4096), sheet), 205, 1);
  EXPECT_NEAR(microseconds(product(512, 12800, 4096), sheet), 596, 25);
  EXPECT_NEAR(microseconds(product(64, 4096, 4096), sheet), 169, 1);
}

TEST(Price, EveryRuleHasARow) {
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    const RuleRow& row = row_of(static_cast<Rule>(i));
    EXPECT_FALSE(row.name.empty() || row.formula.empty()) << i;
    EXPECT_TRUE(row.mark == 'S' || row.mark == 'M' || row.mark == 'E') << row.name;
  }
}

TEST(Price, NothingCostsNothing) { EXPECT_EQ(compute_price({}, {}), Picoseconds{0}); }

}  // namespace
}  // namespace spyre::device_sim
