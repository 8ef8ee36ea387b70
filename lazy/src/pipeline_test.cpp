// spyre/lazy/pipeline_test.cpp — what becomes one kernel, and what must not.
#include "spyre/lazy/pipeline.h"

#include <gtest/gtest.h>

#include <sstream>

#include "graph_fixture.h"
#include "spyre/base/error.h"
#include "spyre/lazy/graph_printer.h"

namespace spyre::lazy {
namespace {

using kernels::Form;
using kernels::Reduction;

Plan plan_of(const GraphWriter& w, std::string_view passes = "") {
  return run_pipeline(w.graph, {.passes = passes, .verify = true});
}

/// One line per group: form, extents, members; buffers read and written.
std::string summary(const Plan& plan) {
  std::ostringstream out;
  for (const Group& g : plan.groups) {
    if (g.library) {
      out << "library\n";
      continue;
    }
    out << (g.spec.form == Form::Row      ? "row "
            : g.spec.form == Form::Column ? "column "
                                          : "pointwise ")
        << g.extents << ':';
    for (const std::uint32_t n : g.nodes) {
      const Node& node = plan.graph.nodes[n];
      out << ' '
          << (node.is_reduction() ? name_of(node.reduction) : kernels::op(node.op).info.name);
    }
    for (const Binding& b : g.bindings)
      out << (b.kind == Binding::Kind::Read ? " <b" : " >b") << b.index;
    out << '\n';
  }
  return out.str();
}

TestTensor softmax(GraphWriter& w, const TestTensor& x) {
  const std::size_t rank = x.sizes.size();
  const TestTensor top = w.reduce(Reduction::Max, x, rank - 1, rank);
  const TestTensor e = w.apply("exp", {w.apply("sub", {x, top})});
  return w.apply("div", {e, w.reduce(Reduction::Sum, e, rank - 1, rank)});
}

TestTensor mean(GraphWriter& w, const TestTensor& x) {
  const std::size_t rank = x.sizes.size();
  return w.apply(
      "div", {w.reduce(Reduction::Sum, x, rank - 1, rank), static_cast<double>(x.sizes.back())});
}

TestTensor layer_norm(GraphWriter& w, const TestTensor& x, const TestTensor& weight,
                      const TestTensor& bias) {
  const TestTensor centred = w.apply("sub", {x, mean(w, x)});
  const TestTensor variance = mean(w, w.apply("mul", {centred, centred}));
  const TestTensor scale = w.apply("rsqrt", {w.apply("add", {variance, 1e-5})});
  return w.apply("add", {w.apply("mul", {w.apply("mul", {centred, scale}), weight}), bias});
}

TEST(Pipeline, FusesAChainWithABroadcastBias) {
  GraphWriter w;
  const TestTensor x = w.input({8, 16}), bias = w.input({16});
  w.observe(w.apply("relu", {w.apply("add", {x, bias})}));
  EXPECT_EQ(print(plan_of(w)), R"(group 0:
  %0 = add float32 [8, 16] (b0[16, 1], b1[0, 1]) -> b2[16, 1]
  %1 = relu float32 [8, 16] (b2[16, 1]) -> b3[16, 1]
  pointwise rank 2 params 0
  a0: load float32 inner unit
  a1: load float32 inner unit
  a2: store float32 inner unit
  %0 = load a0 -> float32 element
  %1 = load a1 -> float32 element
  %2 = add %0, %1 in float32 -> float32 element
  %3 = relu %2 in float32 -> float32 element
  %4 = store a2 %3 element
  extents [8, 16]
  a0 = read b0 [64, 4]
  a1 = read b1 [0, 4]
  a2 = write b3 [64, 4]
)");
}

TEST(Pipeline, FusesSoftmaxIntoOneRowKernel) {
  GraphWriter w;
  w.observe(softmax(w, w.input({4, 8, 16})));
  EXPECT_EQ(print(plan_of(w)), R"(group 0:
  %0 = row_max float32 [4, 8, 16] over 2 (b0[128, 16, 1]) -> b1[8, 1, 0]
  %1 = sub float32 [4, 8, 16] (b0[128, 16, 1], b1[8, 1, 0]) -> b2[128, 16, 1]
  %2 = exp float32 [4, 8, 16] (b2[128, 16, 1]) -> b3[128, 16, 1]
  %3 = row_sum float32 [4, 8, 16] over 2 (b3[128, 16, 1]) -> b4[8, 1, 0]
  %4 = div float32 [4, 8, 16] (b3[128, 16, 1], b4[8, 1, 0]) -> b5[128, 16, 1]
  row rank 2 params 0
  a0: load float32 inner unit
  a1: store float32 inner unit
  %0 = load a0 -> float32 element
  %1 = reduce max %0 in float32 -> float32 result
  %2 = sub %0, %1 in float32 -> float32 element
  %3 = exp %2 in float32 -> float32 element
  %4 = reduce sum %3 in float32 -> float32 result
  %5 = div %3, %4 in float32 -> float32 element
  %6 = store a1 %5 element
  extents [32, 16]
  a0 = read b0 [64, 4]
  a1 = write b5 [64, 4]
)");
}

TEST(Pipeline, FusesAGeluChain) {
  GraphWriter w;
  const TestTensor x = w.input({1000});
  const TestTensor cube = w.apply("mul", {w.apply("mul", {x, x}), x});
  const TestTensor inner = w.apply("mul", {w.apply("add_scaled", {x, cube, 0.044715}), 0.79788456});
  const TestTensor factor = w.apply("add", {w.apply("tanh", {inner}), 1.0});
  w.observe(w.apply("mul", {w.apply("mul", {x, 0.5}), factor}));
  EXPECT_EQ(summary(plan_of(w)),
            "pointwise [1000]: mul mul add_scaled mul tanh add mul mul <b0 >b8\n");
}

TEST(Pipeline, FusesLayerNormWithResidualAndActivation) {
  GraphWriter w;
  const TestTensor x = w.input({2, 8, 64}), residual = w.input({2, 8, 64}), weight = w.input({64}),
                   bias = w.input({64});
  const TestTensor sum = w.apply("add", {x, residual});
  w.observe(sum);
  w.observe(w.apply("gelu", {layer_norm(w, sum, weight, bias)}));
  EXPECT_EQ(summary(plan_of(w)),
            "row [16, 64]: add sum div sub mul sum div add rsqrt mul mul add gelu <b0 <b1 >b4 <b2 "
            "<b3 >b16\n");
}

TEST(Pipeline, FusesSoftmaxBackward) {
  GraphWriter w;
  const TestTensor y = w.input({6, 32}), grad = w.input({6, 32});
  const TestTensor product = w.apply("mul", {grad, y});
  const TestTensor total = w.reduce(Reduction::Sum, product, 1, 2);
  w.observe(w.apply("sub", {product, w.apply("mul", {y, total})}));
  EXPECT_EQ(summary(plan_of(w)), "row [6, 32]: mul sum mul sub <b1 <b0 >b5\n");
}

TEST(Pipeline, FusesABiasGradientWithTheActivationsBackward) {
  GraphWriter w;
  const TestTensor x = w.input({8, 16}), grad = w.input({8, 16});
  const TestTensor masked = w.apply("mul", {grad, w.apply("sign", {x})});
  w.observe(masked);
  w.observe(w.apply("mul", {w.reduce(Reduction::Sum, masked, 0, 1), 0.5}));
  EXPECT_EQ(summary(plan_of(w)), "column [8, 16]: sign mul sum mul <b0 <b1 >b3 >b5\n");
}

TEST(Pipeline, FusesAnInPlaceOptimizerStepAndStoresOnce) {
  GraphWriter w;
  const TestTensor p = w.input({100}), g = w.input({100}), m = w.input({100}), v = w.input({100});
  w.apply_into(p, "mul", {p, 0.999});
  w.apply_into(m, "lerp", {m, g, 0.1});
  w.apply_into(v, "mul", {v, 0.99});
  w.apply_into(v, "addcmul", {v, g, g, 0.01});
  const TestTensor root = w.apply("sqrt", {v});
  w.apply_into(root, "div", {root, 0.3});
  w.apply_into(root, "add", {root, 1e-8});
  w.apply_into(p, "addcdiv", {p, m, root, -0.001});
  EXPECT_EQ(
      summary(plan_of(w)),
      "pointwise [100]: mul lerp mul addcmul sqrt div add addcdiv <b0 <b2 <b1 >b2 <b3 >b3 >b0\n");
}

TEST(Pipeline, SeesThroughReshapes) {
  GraphWriter w;
  const TestTensor x = w.input({6, 4}), bias = w.input({2, 1, 4});
  const TestTensor y = w.apply("exp", {x});
  const TestTensor z = w.apply("add", {y.viewed({2, 3, 4}), bias});
  w.observe(w.apply("neg", {z.viewed({24})}));
  EXPECT_EQ(summary(plan_of(w)), "pointwise [2, 3, 4]: exp add neg <b0 <b1 >b4\n");
}

TEST(Pipeline, KeepsCrossingReshapesApart) {
  GraphWriter w;
  const TestTensor x = w.input({6, 4}), a = w.input({6, 1}), b = w.input({4, 1});
  const TestTensor y = w.apply("add", {x, a});
  w.observe(w.apply("add", {y.viewed({4, 6}), b}));
  const Plan plan = plan_of(w);
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].refusal, Refusal::Shape);
}

TEST(Pipeline, NeverFusesShiftedOverlaps) {
  GraphWriter w;
  const TestTensor x = w.input({9}), t = w.empty({8});
  w.apply_into(t, "cast", {x.slice(0, 0, 8)});
  w.apply_into(x.slice(0, 1, 8), "cast", {t});
  const Plan plan = plan_of(w);
  EXPECT_EQ(summary(plan), "pointwise [8]: cast <b0 >b1\npointwise [8]: cast <b1 >b0\n");
  EXPECT_EQ(plan.groups[0].refusal, Refusal::Overlap);
}

TEST(Pipeline, KeepsAWriteThroughADeadView) {
  GraphWriter w;
  const TestTensor x = w.input({4, 4});
  w.apply_into(x.viewed({16}).slice(0, 0, 8), "add", {x.viewed({16}).slice(0, 0, 8), 1.0});
  const Plan plan = plan_of(w);
  EXPECT_EQ(plan.dead_ops, 0U);
  EXPECT_EQ(summary(plan), "pointwise [8]: add <b0 >b0\n");
}

TEST(Pipeline, DropsWhatNobodySees) {
  GraphWriter w;
  const TestTensor x = w.input({16});
  w.apply("exp", {w.apply("neg", {x})});
  w.apply_into(x, "mul", {x, 2.0});
  w.apply_into(x, "cast", {1.0});
  const Plan plan = plan_of(w);
  EXPECT_EQ(plan.dead_ops, 3U);
  EXPECT_EQ(summary(plan), "pointwise [16]: cast >b0\n");
}

TEST(Pipeline, StoresAnOverwrittenStridedValueNever) {
  GraphWriter w;
  const TestTensor column = w.input({8, 4}).slice(1, 1, 1);
  w.apply_into(column, "add", {column, 1.0});
  w.apply_into(column, "cast", {3.0});
  const Plan plan = plan_of(w);
  EXPECT_EQ(plan.dead_ops, 1U);
  EXPECT_EQ(summary(plan), "pointwise [8]: cast >b0\n");
}

TEST(Pipeline, FusesADiamond) {
  GraphWriter w;
  const TestTensor x = w.input({64});
  const TestTensor top = w.apply("exp", {x});
  w.observe(w.apply("add", {w.apply("neg", {top}), w.apply("sqrt", {top})}));
  EXPECT_EQ(summary(plan_of(w)), "pointwise [64]: exp neg sqrt add <b0 >b4\n");
}

TEST(Pipeline, RunsTransposedOperandsInStorageOrder) {
  GraphWriter w;
  const TestTensor x = w.input({8, 6}).transposed(0, 1), y = w.input({8, 6}).transposed(0, 1);
  const TestTensor out = w.empty({8, 6}).transposed(0, 1);
  w.observe(out);
  w.apply_into(out, "add", {x, y});
  EXPECT_EQ(summary(plan_of(w)), "pointwise [48]: add <b0 <b1 >b2\n");
}

TEST(Pipeline, KeepsALibraryCallInPlace) {
  GraphWriter w;
  const TestTensor x = w.input({16, 16});
  const TestTensor a = w.apply("exp", {x}), product = w.empty({16, 16});
  w.library({a, x}, {product});
  w.observe(w.apply("relu", {product}));
  EXPECT_EQ(summary(plan_of(w)),
            "pointwise [256]: exp <b0 >b1\nlibrary\npointwise [256]: relu <b2 >b3\n");
}

TEST(Pipeline, RunsWhatMayFaultByItself) {
  GraphWriter w;
  const TestTensor x = w.input({16}, DType::I32), y = w.input({16}, DType::I32);
  const TestTensor sum = w.apply("add", {x, y});
  const TestTensor unread = w.empty({16}, DType::I32);
  const std::uint32_t division = w.apply_into(unread, "div_trunc", {sum, y});
  w.graph.nodes[division].may_fault = true;
  w.observe(w.apply("neg", {sum}));
  EXPECT_EQ(summary(plan_of(w)),
            "pointwise [16]: add neg <b0 <b1 >b2 >b4\npointwise [16]: div_trunc <b2 <b1 >b3\n");
}

TEST(Pipeline, DoesNotMoveAReadPastAWrite) {
  GraphWriter w;
  const TestTensor x = w.input({16}), y = w.input({16});
  const TestTensor before = w.apply("exp", {x});
  w.library({y}, {x});
  w.observe(w.apply("add", {before, x}));
  EXPECT_EQ(summary(plan_of(w)),
            "pointwise [16]: exp <b0 >b2\nlibrary\npointwise [16]: add <b2 <b0 >b3\n");
}

TEST(Pipeline, ComputesDuplicatesOnce) {
  GraphWriter w;
  const TestTensor x = w.input({16});
  const TestTensor a = w.apply("exp", {x}), b = w.apply("exp", {x});
  w.library({a}, {w.input({16})});
  w.library({b}, {w.input({16})});
  const Plan plan = plan_of(w);
  EXPECT_EQ(plan.duplicate_ops, 1U);
  EXPECT_EQ(plan.groups.size(), 3U);
}

TEST(Pipeline, SeesThatAWriteMakesEqualOperationsDiffer) {
  GraphWriter w;
  const TestTensor x = w.input({16});
  const TestTensor a = w.apply("exp", {x});
  w.apply_into(x, "neg", {x});
  w.observe(w.apply("add", {a, w.apply("exp", {x})}));
  EXPECT_EQ(plan_of(w).duplicate_ops, 0U);
}

TEST(Pipeline, RoundsAForwardedValueToItsStorage) {
  GraphWriter w;
  const TestTensor x = w.input({16}, DType::F16), y = w.input({16});
  w.apply_into(x, "add", {x, y}, DType::F32, DType::F32);  // x_half += y_float
  w.observe(w.apply("neg", {x}));
  const Plan plan = plan_of(w);
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_NE(plan.groups[0].spec.print().find("cast %2 in float16 -> float16"), std::string::npos)
      << plan.groups[0].spec.print();
}

TEST(Pipeline, CutsLongChainsAtTheSamePlaces) {
  GraphWriter w;
  TestTensor x = w.input({32});
  for (int i = 0; i < 600; ++i) x = w.apply("mul", {x, 1.01});
  w.observe(x);
  const Plan plan = plan_of(w);
  EXPECT_EQ(plan.groups.size(), 10U);
  for (const Group& g : plan.groups) EXPECT_LE(g.nodes.size(), 64U);
  EXPECT_EQ(plan.groups[0].refusal, Refusal::Size);
}

TEST(Pipeline, BoundsArguments) {
  GraphWriter w;
  TestTensor sum = w.input({32});
  for (int i = 0; i < 60; ++i) sum = w.apply("add", {sum, w.input({32})});
  w.observe(sum);
  for (const Group& g : plan_of(w).groups) EXPECT_LE(g.bindings.size(), 24U);
}

TEST(Pipeline, LeavesFewLongRowsToAllCores) {
  GraphWriter w;
  const TestTensor x = w.input({1, 100'000});
  w.observe(w.apply("div", {x, w.reduce(Reduction::Sum, x, 1, 2)}));
  const Plan plan = plan_of(w);
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].refusal, Refusal::Parallelism);
}

TEST(Pipeline, LeavesFewLongColumnsToAllCores) {
  GraphWriter w;
  w.observe(w.reduce(Reduction::Sum, w.apply("gelu", {w.input({10'000, 10})}), 0, 1));
  const Plan plan = plan_of(w);
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].refusal, Refusal::Parallelism);
}

TEST(Pipeline, KeepsRowsThatWouldNotFitTheScratchpadApart) {
  GraphWriter w;
  w.observe(softmax(w, w.input({64, 40'000})));
  EXPECT_EQ(plan_of(w).groups.size(), 1U);
  const Plan small = run_pipeline(w.graph, {.verify = true, .scratchpad = 64_KiB});
  EXPECT_GT(small.groups.size(), 1U);
}

TEST(Pipeline, SwitchesPassesOff) {
  GraphWriter w;
  w.observe(softmax(w, w.input({4, 16})));
  EXPECT_EQ(plan_of(w, "-fuse_rows").groups.size(), 4U);
  EXPECT_EQ(plan_of(w, "-fuse_rows,-fuse_pointwise").groups.size(), 5U);
  EXPECT_NO_THROW(check_passes("-fuse_rows,-duplicates"));
  EXPECT_THROW(check_passes("fuse_rows"), InvalidArgument);
  EXPECT_THROW(check_passes("-fuse_all"), InvalidArgument);
}

TEST(Pipeline, ReportsOnlyPassesThatChangedSomething) {
  GraphWriter w;
  w.observe(w.apply("relu", {w.apply("neg", {w.input({16})})}));
  std::string changed;
  run_pipeline(w.graph, {.on_change = [&](std::string_view pass, const std::string& text) {
                 changed += pass;
                 EXPECT_NE(text.find("relu"), std::string::npos);
               }});
  EXPECT_EQ(changed, "fuse_pointwise");
}

TEST(Pipeline, EqualStructuresShareASpec) {
  const auto spec_of = [](std::int64_t rows) {
    GraphWriter w;
    w.observe(softmax(w, w.input({rows, 2 * rows})));
    return plan_of(w).groups[0].spec;
  };
  EXPECT_EQ(spec_of(3), spec_of(64));
}

TEST(Pipeline, PricesWhatIsMoved) {
  GraphWriter w;
  const TestTensor x = w.input({8, 16}), bias = w.input({16});
  w.observe(w.apply("exp", {w.apply("add", {x, bias})}));
  const device_sim::Work work = plan_of(w).groups[0].work;
  EXPECT_EQ(work.bytes_read, 4U * (128 + 16));
  EXPECT_EQ(work.bytes_written, 4U * 128);
  EXPECT_EQ(work.lane_ops, 128U * (1 + 4));
  EXPECT_EQ(work.pattern, device_sim::Work::Pattern::Broadcast);
}

}  // namespace
}  // namespace spyre::lazy
