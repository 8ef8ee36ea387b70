// spyre/device_sim/work_division_test.cpp — divisions divide, stay within the cores, and come close
// to the best that a card was measured with.
#include "spyre/device_sim/work_division.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "price.h"
#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

using Splits = std::vector<std::uint64_t>;

DeviceSpec spec_with(int cores) {
  DeviceSpec spec;
  spec.cores = cores;
  return spec;
}

TEST(WorkDivision, LongestOutputLoopsFirstThenOneReduction) {
  const std::vector<LoopDim> loops{{.extent = 8}, {.extent = 12}, {.extent = 6, .reduction = true}};
  EXPECT_EQ(divide_loops(loops, {}, spec_with(32)), (Splits{2, 12, 1}));
  EXPECT_EQ(divide_loops(loops, {}, spec_with(1)), (Splits{1, 1, 1}));
  const std::vector<LoopDim> few{{.extent = 3}, {.extent = 64, .reduction = true}};
  EXPECT_EQ(divide_loops(few, {}, spec_with(32)), (Splits{3, 8}));
  const std::vector<LoopDim> pinned{{.extent = 64, .pinned = true}, {.extent = 5}};
  EXPECT_EQ(divide_loops(pinned, {}, spec_with(32)), (Splits{1, 5}));
}

TEST(WorkDivision, ATensorsSpanForcesADivision) {
  DeviceSpec spec = spec_with(4);
  const std::vector<LoopDim> loops{{.extent = 4, .reduction = true}, {.extent = 1024}};
  const TensorDims tensor{{0, 128_MiB}, {1, 128_KiB}};  // 512 MiB, at most 256 MiB a core
  EXPECT_EQ(divide_loops(loops, {}, spec), (Splits{1, 4}));
  EXPECT_EQ(divide_loops(loops, {{tensor}}, spec), (Splits{4, 1}))
      << "two parts are 512 B too many";
  spec.max_core_span = 256_MiB;
  EXPECT_EQ(divide_loops(loops, {{tensor}}, spec), (Splits{2, 2}));
  spec.max_core_span = 1_KiB;
  EXPECT_THROW(divide_loops(loops, {{tensor}}, spec), Unsupported);
}

TEST(WorkDivision, RandomLoopsAreDividedWhole) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<LoopDim> loops(1 + random() % 5);
    for (LoopDim& loop : loops)
      loop = {.extent = 1 + random() % 100, .reduction = random() % 3 == 0};
    const int cores = 1 + static_cast<int>(random() % 32);
    const Splits splits = divide_loops(loops, {}, spec_with(cores));
    std::uint64_t used = 1;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      EXPECT_EQ(loops[i].extent % splits[i], 0U);
      used *= splits[i];
    }
    EXPECT_LE(used, static_cast<std::uint64_t>(cores));
  }
}

TEST(WorkDivision, EveryCoreHasItsOwnSlice) {
  const Splits splits{4, 2, 4};
  std::set<Splits> slices;
  for (std::uint16_t core = 0; core < 32; ++core) slices.insert(slice_of_core({core}, splits));
  EXPECT_EQ(slices.size(), 32U);
  EXPECT_EQ(slice_of_core({1}, splits), (Splits{1, 0, 0})) << "neighbours share all but the first";
}

struct Shape {
  ProductShape product;
  double best_us;  // measured on a card, over all divisions
};

/// The golden products of a public sweep.
std::vector<Shape> measured() {
  const auto plain = [](std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    return ProductShape{.batch = 1, .m = m, .n = n, .k = k};
  };
  return {{plain(512, 4096, 4096), 317},   {plain(512, 1024, 4096), 89},
          {plain(512, 12800, 4096), 1017}, {plain(512, 4096, 12800), 899},
          {plain(64, 4096, 4096), 221},    {plain(64, 1024, 4096), 60},
          {plain(64, 12800, 4096), 705},   {plain(64, 4096, 12800), 685}};
}

Work work_of(const ProductShape& p) {
  return {.bytes_read = 2 * p.batch * (p.m * p.k + p.k * p.n),
          .bytes_written = 2 * p.batch * p.m * p.n,
          .macs = p.macs(),
          .pattern = Work::Pattern::Product,
          .rows = p.m,
          .product = p};
}

double microseconds(const Work& work, const DeviceSpec& spec = {}) {
  return static_cast<double>(compute_price(work, spec).count) * 1e-6;
}

TEST(WorkDivision, PlannedProductsStayCloseToTheBestMeasured) {
  for (const auto& [product, best] : measured()) {
    const Work work = divided(work_of(product), 32);
    EXPECT_EQ(work.split.cores(), 32);
    EXPECT_NEAR(microseconds(work) / best, 1, 0.2)
        << product.m << "x" << product.n << "x" << product.k;
  }
}

TEST(WorkDivision, BadDivisionsCostWhatTheyCost) {
  const std::pair<ProductShape, double> rows[] = {{{.m = 64, .n = 4096, .k = 4096}, 843},
                                                  {{.m = 64, .n = 1024, .k = 4096}, 211},
                                                  {{.m = 64, .n = 4096, .k = 12800}, 2561}};
  for (const auto& [product, card_us] : rows) {
    Work work = work_of(product);
    work.split = {1, 32, 1, 1};
    EXPECT_NEAR(microseconds(work) / card_us, 1, 0.1);
    EXPECT_EQ(price_of(work, {}).rule, Rule::FanOut);
  }
}

TEST(WorkDivision, BatchedProductsAddTheirPhases) {
  const std::tuple<ProductShape, CoreSplit, double> rows[] = {
      {{.batch = 32, .m = 512, .n = 128, .k = 512}, {4, 4, 2, 1}, 395},
      {{.batch = 512, .m = 32, .n = 512, .k = 128}, {1, 2, 8, 2}, 1009},
      {{.batch = 64, .m = 32, .n = 576, .k = 128}, {4, 4, 1, 2}, 158},
      {{.batch = 32, .m = 64, .n = 128, .k = 576}, {2, 8, 2, 1}, 60}};
  for (const auto& [product, split, card_us] : rows) {
    Work work = work_of(product);
    work.split = split;
    EXPECT_NEAR(microseconds(work) / card_us, 1, 0.45) << product.batch;
    const Price price = price_of(work, {});
    EXPECT_EQ(price.total, price.memory + price.matrix + price.partial_sums);
  }
}

TEST(WorkDivision, FewerCoresAreNeverFaster) {
  for (const auto& [product, best] : measured()) {
    double previous = std::numeric_limits<double>::infinity();
    for (const int cores : {1, 2, 4, 8, 16, 32}) {
      const DeviceSpec spec = spec_with(cores);
      const double us = microseconds(divided(work_of(product), cores), spec);
      EXPECT_LE(us, previous * 1.001) << cores;
      previous = us;
    }
  }
}

}  // namespace
}  // namespace spyre::device_sim
