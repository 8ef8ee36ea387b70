// spyre/lazy/partition_test.cpp — permuted views: when loops may be reordered to fuse them.
#include "partition.h"

#include <gtest/gtest.h>

#include "graph_fixture.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {
namespace {

constexpr std::int64_t kBatch = 4, kLength = 5, kHeads = 3, kWidth = 32;

/// [batch * length, heads * width] as [batch, heads, length, width].
TestTensor heads(const TestTensor& t) {
  return t.viewed({kBatch, kLength, kHeads, kWidth}).transposed(1, 2);
}

TestTensor projection(GraphWriter& w) {
  const std::int64_t features = kHeads * kWidth;
  return w.apply("add", {w.input({kBatch * kLength, features}), w.input({features})});
}

std::size_t groups(const GraphWriter& w) {
  return run_pipeline(w.graph, {.verify = true}).groups.size();
}

TEST(Partition, FusesABiasWithTheSplitIntoHeads) {
  GraphWriter w;
  const TestTensor scaled = w.apply("mul", {heads(projection(w)), 0.125});
  const TestTensor dense = w.empty(scaled.sizes);
  w.apply_into(dense, "cast", {scaled});
  w.observe(dense);
  const Plan plan = run_pipeline(w.graph, {.verify = true});
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].extents, (Dims{kBatch, kHeads, kLength, kWidth}));
  EXPECT_EQ(plan.groups[0].bindings.size(), 3U);
}

TEST(Partition, LetsOtherTensorsJoinReorderedLoops) {
  GraphWriter w;
  const TestTensor q = w.apply("mul", {heads(projection(w)), 0.125});
  const TestTensor mask = w.apply("neg", {w.input(q.sizes)});
  w.observe(w.apply("exp", {w.apply("add", {q, mask})}));
  EXPECT_EQ(groups(w), 1U);
}

TEST(Partition, LeavesTranspositionsToTheirOwnKernel) {
  GraphWriter w;
  const TestTensor y = w.apply("exp", {w.input({64, 48})});
  w.observe(w.apply("neg", {y.transposed(0, 1)}));
  EXPECT_EQ(groups(w), 2U);
}

TEST(Partition, LeavesShortInnerLoopsAlone) {
  GraphWriter w;
  const TestTensor y = w.apply("exp", {w.input({64, 48, 4})});
  w.observe(w.apply("neg", {y.transposed(0, 1)}));
  EXPECT_EQ(groups(w), 2U);
}

TEST(Partition, PutsLoopsBackIfTheMergeFails) {
  GraphWriter w;
  const TestTensor x = w.input({40, 32}), y = w.apply("exp", {x});
  // Reads y in two orders: no order of its loops suits both.
  const TestTensor both =
      w.apply("add", {y.viewed({8, 5, 32}).transposed(0, 1), y.viewed({5, 8, 32})});
  w.observe(w.apply("neg", {both}));
  const Plan plan = run_pipeline(w.graph, {.verify = true});
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[1].nodes.size(), 2U);
}

}  // namespace
}  // namespace spyre::lazy
