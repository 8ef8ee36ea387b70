// spyre/lazy/plan_compiler_test.cpp — a trace becomes a graph, and the graph a launch plan.
#include "plan_compiler.h"

#include "device_fixture.h"
#include "programs.h"
#include "spyre/lazy/graph_builder.h"
#include "spyre/lazy/key.h"

namespace spyre::lazy {
namespace {

class PlanCompilerTest : public DeviceFixture {
 protected:
  void mul(const Input& x, const Input& y, const DeviceTensor& out) {
    const Input inputs[]{x, y};
    trace.append(Pointwise{kernels::op_named("mul"), out.dtype, out.dtype, out.sizes.span(), inputs,
                           out.view(), 0});
  }
  std::shared_ptr<const LaunchPlan> compile(std::string_view passes = "") {
    collect_facts(trace, facts);
    CompileOptions options;
    options.pipeline.passes = passes;
    options.pipeline.verify = true;
    options.execution = kernels::Execution::Scalar;
    return compile_plan(trace, facts, kernels, options);
  }

  Trace trace{kStream};
  std::vector<BufferFacts> facts;
  kernels::KernelCache kernels{1_MiB};
};

TEST_F(PlanCompilerTest, GraphNumbersAreTheTraces) {
  const DeviceTensor a = tensor<float>({2, 3}, std::vector<float>(6)), out = empty({2, 3});
  mul(in(a), number(2), out);
  const View input = a.view();
  const Dims zero_last{1, 0};
  const DeviceTensor sums = empty({2});
  trace.append(TraceNode::Kind::Row,
               Reduce{kernels::Reduction::Sum, DType::F32, DType::F32, a.sizes.span(), 2, input,
                      View{sums.buffer.get(), DType::F32, 0, zero_last.span()}, 3});
  collect_facts(trace, facts);
  const Graph graph = build_graph(trace, facts);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.params, 1U);
  EXPECT_EQ(graph.buffers.size(), 3U);
  EXPECT_TRUE(graph.buffers[0].written_before);
  EXPECT_FALSE(graph.buffers[1].written_before);
  EXPECT_EQ(graph.inputs(graph.nodes[0])[1].kind, Operand::Kind::Scalar);
  EXPECT_EQ(graph.output(graph.nodes[0]).index, 1U);
  EXPECT_EQ(graph.nodes[1].kind, Node::Kind::Row);
  EXPECT_EQ(graph.nodes[1].reduced, 2U);
  EXPECT_EQ(graph.nodes[1].source, 3U);
}

TEST_F(PlanCompilerTest, AChainIsOneStepWithoutIntermediates) {
  const DeviceTensor a = tensor<float>({8}, std::vector<float>(8)), out = empty({8});
  {
    const DeviceTensor t = empty({8});
    mul(in(a), number(2), t);
    mul(in(t), in(a), out);
  }
  const auto plan = compile();
  ASSERT_EQ(plan->steps.size(), 1U);
  EXPECT_EQ(plan->steps[0].name, "mul_mul");
  EXPECT_EQ(plan->arena, 0_B);
  EXPECT_EQ(plan->ops_planned, 2U);
  EXPECT_EQ(plan->ops_fused, 2U);
  EXPECT_EQ(print(*plan),
            "b0: given\nb1: none\nb2: new\narena: 0 B, arguments: 56 B\n"
            "mul_mul (reads b0[0, 32), writes b2[0, 32))\n");
}

TEST_F(PlanCompilerTest, WithoutFusionTheIntermediateLivesInTheArena) {
  const DeviceTensor a = tensor<float>({2, 4}, std::vector<float>(8)), out = empty({2, 4});
  {
    const DeviceTensor t = empty({4, 2});
    mul(in(a.transposed()), number(2), t);
    mul(in(t.transposed()), in(a), out);  // not in place: it lies in another order
  }
  const auto plan = compile("-fuse_pointwise");
  ASSERT_EQ(plan->steps.size(), 2U);
  EXPECT_EQ(plan->arena, 128_B);
  EXPECT_EQ(plan->placements[1].kind, Placement::Kind::Arena);
  EXPECT_EQ(plan->ops_fused, 0U);
}

TEST_F(PlanCompilerTest, AnIntermediateUsesTheMemoryOfTheResultInPlaceOfIt) {
  const DeviceTensor a = tensor<float>({8}, std::vector<float>(8)), out = empty({8});
  {
    const DeviceTensor t = empty({8});
    mul(in(a), number(2), t);
    mul(in(t), in(a), out);
  }
  const auto plan = compile("-fuse_pointwise");
  EXPECT_EQ(plan->arena, 0_B);
  EXPECT_EQ(plan->placements[1], (Placement{Placement::Kind::Lent, 2, 0}));
}

TEST_F(PlanCompilerTest, WhatIsComputedInLentMemoryIsRight) {
  Settings settings = device.settings();
  settings.passes = "-fuse_pointwise";
  device.configure(settings);
  const DeviceTensor a = tensor<float>({4}, {1, 2, 3, 4}), out = empty({4});
  {
    const DeviceTensor t = empty({4});
    apply("mul", {in(a), number(2)}, t);
    apply("mul", {in(t), in(a)}, out);
  }
  EXPECT_EQ(read<float>(out), (std::vector<float>{2, 8, 18, 32}));
}

TEST_F(PlanCompilerTest, ArgumentsHoldExtentsStridesAndPatches) {
  const DeviceTensor a = tensor<float>({4, 8}, std::vector<float>(32)), out = empty({8, 4});
  mul(in(a.transposed()), number(2), out);
  const auto plan = compile();
  ASSERT_EQ(plan->steps.size(), 1U);
  ASSERT_EQ(plan->addresses.size(), 2U);
  ASSERT_EQ(plan->params.size(), 1U);
  EXPECT_EQ(plan->params[0].param, 0U);
  const auto& program = static_cast<const KernelProgram&>(*plan->steps[0].program);
  EXPECT_EQ(plan->image.size(), program.words());
  EXPECT_EQ(plan->image[program.extent_word(0)] * plan->image[program.extent_word(1)], 32U);
  EXPECT_GT(plan->bytes(), 100_B);
}

}  // namespace
}  // namespace spyre::lazy
