// spyre/kernels/lowering_test.cpp — where steps are placed, what is kept between passes, what is dropped.
#include "spyre/kernels/lowering.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "row_schedule.h"
#include "spec_builder.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

constexpr DType kF32 = DType::F32;

bool uses(const Segment& segment, Micro op) {
  return std::any_of(segment.program.begin(), segment.program.end(),
                     [&](const MicroInstruction& in) { return in.op == op; });
}

TEST(LoweringTest, UnusedStepsAndLoadsDisappear) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t x = b.load(kF32);
  const std::uint16_t unused = b.load(kF32);
  b.apply("div", kF32, {x, unused});
  b.store(b.apply("neg", kF32, {x}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  EXPECT_EQ(kernel.passes[0].points.loads, std::vector<std::uint16_t>{x});
  EXPECT_EQ(kernel.passes[0].points.program.size(), 2U);  // the input, the negation
}

TEST(LoweringTest, StepsOnParametersRunOnce) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t root = b.apply("sqrt", kF32, {b.param(kF32)});
  b.store(b.apply("mul", kF32, {b.load(kF32), root}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  EXPECT_TRUE(uses(kernel.uniform, Micro::Sqrt));
  EXPECT_FALSE(uses(kernel.passes[0].points, Micro::Sqrt));
}

TEST(LoweringTest, SharedStepsOnParametersMoveOnce) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t base = b.param(DType::I64);  // whose powers are squares of squares
  b.store(b.apply("int_pow", DType::I64, {base, b.load(DType::I64)}), DType::I64);
  const MicroProgram& program = lower(b.spec()).uniform.program;
  EXPECT_TRUE(uses(lower(b.spec()).uniform, Micro::Mul));
  EXPECT_LT(program.size(), 100U);
}

TEST(LoweringTest, HalfPrecisionIsRoundedAtEveryOpBoundary) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t x = b.load(DType::BF16);
  const std::uint16_t y = b.apply("mul", DType::BF16, {x, x});
  b.store(b.apply("mul", DType::BF16, {y, x}), DType::BF16);
  const LoweredKernel lowered = lower(b.spec());
  const MicroProgram& program = lowered.passes[0].points.program;
  EXPECT_EQ(std::count_if(program.begin(), program.end(),
                          [](const auto& in) { return in.op == Micro::RoundBF16ShortNan; }),
            2);
}

struct Softmax {
  SpecBuilder b{Form::Row, 2};
  std::uint16_t x = b.load(kF32);
  std::uint16_t largest = b.reduce(Reduction::Max, kF32, kF32, x);
  std::uint16_t shifted = b.apply("sub_scaled", kF32, {x, largest, b.param(kF32)});
  std::uint16_t e = b.apply("exp", kF32, {shifted});
  std::uint16_t total = b.reduce(Reduction::Sum, kF32, kF32, e);
  Softmax() { b.store(b.apply("div", kF32, {e, total}), kF32); }
};

TEST(LoweringTest, SoftmaxKeepsItsExponentials) {
  const Softmax softmax;
  const LoweredKernel kernel = lower(softmax.b.spec());
  ASSERT_EQ(kernel.passes.size(), 3U);
  EXPECT_EQ(kernel.saved, std::vector<std::uint16_t>{softmax.e});
  EXPECT_EQ(kernel.passes[1].points.loads, std::vector<std::uint16_t>{softmax.x});
  EXPECT_EQ(kernel.passes[2].points.loads, std::vector<std::uint16_t>{});
  EXPECT_EQ(kernel.passes[2].points.restores, std::vector<std::uint16_t>{softmax.e});
}

TEST(LoweringTest, CheapValuesAreComputedAgain) {
  SpecBuilder b(Form::Row, 2);
  const std::uint16_t x = b.load(kF32);
  const std::uint16_t negated = b.apply("neg", kF32, {x});
  const std::uint16_t total = b.reduce(Reduction::Sum, kF32, kF32, negated);
  b.store(b.apply("mul", kF32, {negated, total}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  EXPECT_TRUE(kernel.saved.empty());
  EXPECT_EQ(kernel.passes[1].points.loads, std::vector<std::uint16_t>{x});
}

TEST(LoweringTest, StoresWaitForTheLastLoad) {
  SpecBuilder b(Form::Row, 2);
  const std::uint16_t x = b.load(kF32);
  b.store(b.apply("neg", kF32, {x}), kF32);  // may overwrite x in place
  const std::uint16_t total = b.reduce(Reduction::Sum, kF32, kF32, x);
  b.store(b.apply("mul", kF32, {x, total}), kF32);
  const LoweredKernel kernel = lower(b.spec());
  ASSERT_EQ(kernel.passes.size(), 2U);
  EXPECT_TRUE(kernel.passes[0].points.stores.empty());
  EXPECT_EQ(kernel.passes[1].points.stores.size(), 2U);
}

TEST(LoweringTest, ResultsOfARowAreKnownBeforeThePassThatNeedsThem) {
  const Softmax softmax;
  const RowSchedule plan = schedule(softmax.b.spec());
  EXPECT_EQ(plan.passes, 3);
  EXPECT_EQ(plan.pass[softmax.largest], 1);
  EXPECT_EQ(plan.pass[softmax.e], 1);
  EXPECT_EQ(plan.pass[softmax.total], 2);
}

TEST(LoweringTest, ScratchpadHoldsTheKeptValuesOfOneRow) {
  const Softmax softmax;
  const std::int64_t extents[] = {7, 1000};
  EXPECT_EQ(scratch_bytes(softmax.b.spec(), extents),
            Bytes{1024 * 4});  // rows are padded to whole vectors
}

TEST(LoweringTest, ListingShowsProgramAndInstructions) {
  const Softmax softmax;
  const std::string text = compile(softmax.b.spec(), Isa::Avx2)->listing();
  EXPECT_NE(text.find("reduce max"), std::string::npos) << text;
  EXPECT_NE(text.find("pass 1"), std::string::npos);
  EXPECT_NE(text.find("vdivps"), std::string::npos);
}

}  // namespace
}  // namespace spyre::kernels
