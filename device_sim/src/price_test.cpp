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

TEST(Price, NothingCostsNothing) { EXPECT_EQ(compute_price({}, {}), Picoseconds{0}); }

}  // namespace
}  // namespace spyre::device_sim
