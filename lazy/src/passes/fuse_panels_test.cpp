// spyre/lazy/passes/fuse_panels_test.cpp — which chains there are, and what stays in the scratchpad.
#include "fuse_panels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../graph_fixture.h"
#include "spyre/lazy/memory_plan.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {
namespace {

using kernels::Reduction;

Plan planned(const GraphWriter& w, std::string_view passes = {}) {
  return run_pipeline(w.graph, {.passes = passes, .verify = true});
}

const Chain* only_chain(const Plan& plan) {
  const Chain* found = nullptr;
  for (const Group& group : plan.groups) {
    if (!group.chain) continue;
    EXPECT_EQ(found, nullptr) << "two chains";
    found = group.chain.get();
  }
  return found;
}

bool resident(const Chain& chain, const TestTensor& t) {
  return chain.resident(t.buffer) != Chain::kNone;
}

TestTensor softmax(GraphWriter& w, const TestTensor& x) {
  const std::size_t last = x.sizes.size() - 1;
  const TestTensor exps =
      w.apply("exp", {w.apply("sub", {x, w.reduce(Reduction::Max, x, last, last + 1)})});
  return w.apply("div", {exps, w.reduce(Reduction::Sum, exps, last, last + 1)});
}

struct Attention {
  GraphWriter w;
  TestTensor scores, probabilities, out;

  explicit Attention(std::int64_t batch, std::int64_t length, bool masked = false) {
    const TestTensor q = w.input({batch, length, 64}), k = w.input({batch, length, 64}),
                     v = w.input({batch, length, 64});
    scores = w.product(q, k.transposed(1, 2));
    TestTensor scaled = w.apply("mul", {scores, 0.125});
    if (masked) scaled = w.apply("add", {scaled, w.input({length, length})});
    probabilities = softmax(w, scaled);
    out = w.product(probabilities, v);
    w.observe(out);
  }
};

TEST(FusePanels, AttentionIsOneStepWithoutItsScores) {
  for (const bool masked : {false, true}) {
    const Attention a(32, 512, masked);
    const Plan plan = planned(a.w);
    ASSERT_EQ(plan.groups.size(), 1U);
    const Chain* chain = only_chain(plan);
    ASSERT_NE(chain, nullptr);
    EXPECT_EQ(chain->rows, (Dims{32, 512}));
    EXPECT_EQ(chain->stages.size(), 3U);
    EXPECT_TRUE(resident(*chain, a.scores));
    EXPECT_TRUE(resident(*chain, a.probabilities));
    const MemoryPlan memory = plan_memory(plan.graph.buffers, touches_of(plan));
    EXPECT_EQ(memory.placements[a.scores.buffer].kind, Placement::Kind::None);
    EXPECT_EQ(memory.placements[a.out.buffer].kind, Placement::Kind::New);
    EXPECT_EQ(memory.arena.count, 0U);
  }
}

TEST(FusePanels, WhatIsSavedForBackwardIsStoredToo) {
  Attention a(32, 512);
  a.w.observe(a.probabilities);
  const Plan plan = planned(a.w);
  const Chain* chain = only_chain(plan);
  ASSERT_NE(chain, nullptr);
  EXPECT_TRUE(resident(*chain, a.scores));
  EXPECT_FALSE(resident(*chain, a.probabilities));
  const MemoryPlan memory = plan_memory(plan.graph.buffers, touches_of(plan));
  EXPECT_EQ(memory.placements[a.probabilities.buffer].kind, Placement::Kind::New);
  EXPECT_TRUE(memory.fills.empty());
}

TEST(FusePanels, LongRowsGoInSmallerPanels) {
  const Attention a(8, 2048);
  const Plan plan = planned(a.w);
  const Chain* chain = only_chain(plan);
  ASSERT_NE(chain, nullptr);
  EXPECT_LT(chain->panel_rows, 96);
  EXPECT_LE(chain->resident_bytes.count, 1'625'344U);
  EXPECT_EQ(planned(Attention(8, 65'536).w).groups.size(), 3U) << "no panel fits";
}

TEST(FusePanels, FewRowsAreNotWorthAChain) {
  EXPECT_EQ(only_chain(planned(Attention(1, 150).w)), nullptr);
  EXPECT_NE(only_chain(planned(Attention(2, 30).w)), nullptr) << "one core runs it all anyway";
}

TEST(FusePanels, ProductsChainThroughPointwiseRows) {
  GraphWriter w;
  const TestTensor x = w.input({1024, 256}), w1 = w.input({512, 256}), b1 = w.input({512}),
                   w2 = w.input({256, 512});
  const TestTensor hidden = w.product(x, w1.transposed(0, 1));
  const TestTensor active = w.apply("relu", {w.apply("add", {hidden, b1})});
  const TestTensor y = w.product(active, w2.transposed(0, 1));
  const TestTensor sum = w.apply("add", {y, x});
  w.observe(sum);
  const Plan plan = planned(w);
  const Chain* chain = only_chain(plan);
  ASSERT_NE(chain, nullptr);
  EXPECT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(chain->stages.size(), 4U);
  EXPECT_EQ(chain->residents.size(), 3U);
}

TEST(FusePanels, WhatMakesTheRowsGoesFirst) {
  GraphWriter w;
  const TestTensor x = w.input({1024, 64}), m = w.input({64, 512});
  const TestTensor doubled = w.apply("mul", {x, 2.0});
  const TestTensor y = w.product(doubled, m);
  w.observe(y);
  const Plan plan = planned(w);
  const Chain* chain = only_chain(plan);
  ASSERT_NE(chain, nullptr);
  EXPECT_FALSE(chain->stages[0].group.library);
  EXPECT_TRUE(resident(*chain, doubled));
}

TEST(FusePanels, ProductsOfOneRowEachEndAChain) {
  GraphWriter w;
  const TestTensor x = w.input({4, 16}), m = w.input({16, 8}), each = w.input({4, 8, 5});
  TestTensor rows = w.product(x, m);
  rows.sizes = {4, 1, 8};
  rows.strides = {8, 8, 1};
  const TestTensor y = w.apply("add", {w.product(rows, each), 1.0});
  w.observe(y);
  const Plan plan = planned(w);
  for (const Group& group : plan.groups) {
    if (!group.chain) continue;
    const auto products = std::ranges::count_if(
        group.chain->stages, [](const Stage& stage) { return stage.group.library; });
    EXPECT_LE(products, 1) << "a panel of rows of the first is of four matrices of the second";
  }
}

TEST(FusePanels, ColumnsOfTheResultEndAChain) {
  GraphWriter w;
  const TestTensor x = w.input({1024, 64}), m = w.input({64, 512});
  const TestTensor active = w.apply("relu", {w.product(x, m)});
  const TestTensor other = w.product(active.transposed(0, 1), x);
  w.observe(other);
  const Plan plan = planned(w);
  const Chain* chain = only_chain(plan);
  ASSERT_NE(chain, nullptr);
  EXPECT_EQ(chain->stages.size(), 2U);
  EXPECT_FALSE(resident(*chain, active)) << "the other product needs it whole";
}

TEST(FusePanels, AWriteToWhatAMemberReadsWholeEndsAChain) {
  GraphWriter w;
  const TestTensor x = w.input({1024, 64}), m = w.input({64, 64});
  const TestTensor hidden = w.product(x, m);
  w.apply_into(m, "mul", {m, 2.0});
  const TestTensor y = w.apply("relu", {hidden});
  w.observe(y);
  w.observe(m);
  const Plan plan = planned(w);
  EXPECT_EQ(only_chain(plan), nullptr);
}

TEST(FusePanels, CanBeSwitchedOff) {
  EXPECT_EQ(planned(Attention(32, 512).w, "-fuse_panels").groups.size(), 3U);
}

}  // namespace
}  // namespace spyre::lazy
