// spyre/lazy/passes/constants_test.cpp — which reads become scalars, and which must stay reads.
#include "passes/constants.h"

#include <gtest/gtest.h>

#include "graph_fixture.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {
namespace {

/// Whether the last node still reads memory as its input `position`.
bool reads_memory(const GraphWriter& w, std::size_t position) {
  const Graph graph = constants(w.graph);
  return graph.inputs(graph.nodes.back())[position].is_view();
}

TEST(Constants, TakeTheScalarOfAFill) {
  GraphWriter w;
  const TestTensor x = w.input({4, 8}), ones = w.empty({8});
  w.apply_into(ones, "cast", {1.0});
  w.observe(w.apply("mul", {x, ones.slice(0, 2, 1)}));
  EXPECT_TRUE(reads_memory(w, 0));
  EXPECT_FALSE(reads_memory(w, 1));
  const Plan plan = run_pipeline(w.graph, {.verify = true});
  EXPECT_EQ(plan.dead_ops, 1U);  // the fill
  EXPECT_EQ(plan.groups.size(), 1U);
}

TEST(Constants, EndWithAWrite) {
  GraphWriter w;
  const TestTensor x = w.input({8}), zeros = w.empty({8});
  w.apply_into(zeros, "cast", {0.0});
  w.apply_into(zeros.slice(0, 3, 1), "cast", {x.slice(0, 0, 1)});
  w.observe(w.apply("add", {x, zeros}));
  EXPECT_TRUE(reads_memory(w, 1));
}

TEST(Constants, DoNotReachBeyondTheFill) {
  GraphWriter w;
  const TestTensor x = w.input({8});
  w.apply_into(x.slice(0, 0, 4), "cast", {0.0});
  w.observe(w.apply("neg", {x}));
  EXPECT_TRUE(reads_memory(w, 0));
}

TEST(Constants, DoNotSeeThroughAnotherType) {
  GraphWriter w;
  TestTensor bits = w.empty({8}, DType::I32);
  w.apply_into(bits, "cast", {7.0});
  bits.dtype = DType::F32;
  w.observe(w.apply("neg", {bits}));
  EXPECT_TRUE(reads_memory(w, 0));
}

TEST(Constants, DoNotWidenHalfPrecisionOperations) {
  GraphWriter w;
  const TestTensor x = w.input({8}, DType::F16), third = w.empty({8});
  w.apply_into(third, "cast", {1.0 / 3});
  const TestTensor out = w.empty({8}, DType::F16);
  w.observe(out);
  w.apply_into(out, "mul",
               {x, third});  // the tensor is rounded to float16, a parameter would not be
  EXPECT_TRUE(reads_memory(w, 1));
}

}  // namespace
}  // namespace spyre::lazy
