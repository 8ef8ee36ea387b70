// spyre/kernels/invariants_test.cpp — which micro-ops leave the loops, and where they go.
#include "invariants.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "spec_builder.h"

namespace spyre::kernels {
namespace {

constexpr DType kF32 = DType::F32;

std::size_t count(const Segment& segment, Micro op) {
  return static_cast<std::size_t>(std::ranges::count(segment.program, op, &MicroInstruction::op));
}

TEST(Invariants, ParametersAreWorkedOnOncePerRun) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply("sub_scaled", kF32, {b.load(kF32), b.load(kF32), b.param(kF32)}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  EXPECT_EQ(count(kernel.uniform, Micro::Neg), 1U);
  EXPECT_EQ(count(kernel.passes[0].points, Micro::Neg), 0U);
  EXPECT_EQ(count(kernel.passes[0].points, Micro::Fma), 1U);
  EXPECT_EQ(kernel.hoisted, 1U);
  EXPECT_EQ(kernel.uniform.results.size(), 1U);  // the parameter itself is not kept
}

TEST(Invariants, AChoiceBetweenParametersTakesItsMaskAlong) {
  SpecBuilder b(Form::Pointwise);  // of NaN, bfloat16 is given the plain one
  b.store(b.apply("mul", DType::BF16, {b.load(DType::BF16), b.param(kF32)}), DType::BF16);
  const LoweredKernel kernel = lower(b.spec());
  EXPECT_EQ(count(kernel.uniform, Micro::Ne), 1U);
  EXPECT_EQ(count(kernel.uniform, Micro::Select), 1U);
  EXPECT_EQ(count(kernel.passes[0].points, Micro::Ne), 0U);
  EXPECT_EQ(count(kernel.passes[0].points, Micro::Select), 0U);
}

TEST(Invariants, AMaskIsMadeWhereItIsUsed) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t chosen = b.apply("gt", kF32, DType::Bool, {b.param(kF32), b.param(kF32)});
  b.store(b.apply("where", kF32, {chosen, b.load(kF32), b.load(kF32)}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  for (const Binding& result : kernel.uniform.results)
    EXPECT_NE(kernel.uniform.program[result.position].lane, Lane::Mask);
}

TEST(Invariants, ValuesOfARowAreWorkedOnOncePerRow) {
  SpecBuilder b(Form::Row, 2);
  const std::uint16_t x = b.load(kF32);
  const std::uint16_t total = b.reduce(Reduction::Sum, kF32, kF32, x);
  b.store(b.apply("sub_scaled", kF32, {x, x, total}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  ASSERT_EQ(kernel.passes.size(), 2U);
  EXPECT_EQ(count(kernel.passes[1].before, Micro::Neg), 1U);
  EXPECT_EQ(count(kernel.passes[1].points, Micro::Neg), 0U);
}

TEST(Invariants, FaultsStayWhereTheyHappen) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t p = b.param(DType::I32), q = b.param(DType::I32);
  const std::uint16_t x = b.load(DType::I32);
  b.store(b.apply("add", DType::I32, {x, b.apply("div_trunc", DType::I32, {p, q})}), DType::I32);
  const LoweredKernel kernel = lower(b.spec());
  EXPECT_EQ(count(kernel.uniform, Micro::IntDivTrunc) +
                count(kernel.passes[0].points, Micro::IntDivTrunc),
            1U);
  EXPECT_EQ(kernel.hoisted, 0U);  // a step on parameters is uniform already
}

}  // namespace
}  // namespace spyre::kernels
