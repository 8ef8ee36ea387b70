// spyre/kernels/builder_test.cpp — what the builder folds, merges and refuses, and PyTorch's conversions.
#include "spyre/kernels/builder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "spyre/base/error.h"

namespace spyre::kernels {
namespace {

class BuilderTest : public testing::Test {
 protected:
  const MicroInstruction& at(Value v) const { return program_[v.index]; }
  bool is_constant(Value v) const { return at(v).op == Micro::Const; }
  float float_of(Value v) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(at(v).imm));
  }

  MicroProgram program_;
  Builder b_{program_};
};

TEST_F(BuilderTest, FoldsConstants) {
  const Value sum = b_.add(b_.constant(Lane::F32, 1.5), b_.constant(Lane::F32, 2.25));
  ASSERT_TRUE(is_constant(sum));
  EXPECT_EQ(float_of(sum), 3.75F);
  EXPECT_TRUE(is_constant(b_.mask_to_int(b_.lt(sum, b_.constant(Lane::F32, 9)))));
  EXPECT_TRUE(is_constant(b_.math1(0, sum)));
}

TEST_F(BuilderTest, LeavesDivisionByConstantZeroToTheLaunch) {
  const Value quotient = b_.int_div_trunc(b_.constant(Lane::I32, 1), b_.constant(Lane::I32, 0));
  EXPECT_EQ(at(quotient).op, Micro::IntDivTrunc);
}

TEST_F(BuilderTest, MergesEqualInstructions) {
  const Value x = b_.input(0, Lane::F32);
  EXPECT_EQ(b_.mul(x, x).index, b_.mul(x, x).index);
  EXPECT_NE(b_.mul(x, x).index, b_.add(x, x).index);
  EXPECT_EQ(b_.input(0, Lane::F32).index, x.index);
  EXPECT_NE(b_.constant(Lane::F32, 0.0).index, b_.constant(Lane::F32, -0.0).index);
  for (int i = 0; i < 500; ++i) b_.add(x, b_.constant(Lane::F32, i));
  const std::size_t size = program_.size();
  for (int i = 0; i < 500; ++i) b_.add(x, b_.constant(Lane::F32, i));
  EXPECT_EQ(program_.size(), size);
}

TEST_F(BuilderTest, ContinuesAProgramThatOthersStarted) {
  const Value x = b_.input(0, Lane::I64);
  Builder other(program_);
  EXPECT_EQ(other.input(0, Lane::I64).index, x.index);
}

TEST_F(BuilderTest, SelectByAConstantMaskIsABranch) {
  const Value x = b_.input(0, Lane::F32), y = b_.input(1, Lane::F32);
  EXPECT_EQ(b_.select(b_.bits(Lane::Mask, 1), x, y).index, x.index);
  EXPECT_EQ(b_.select(b_.bits(Lane::Mask, 0), x, y).index, y.index);
  EXPECT_EQ(b_.select(b_.lt(x, y), x, x).index, x.index);
}

TEST_F(BuilderTest, IntegersAreNeverNan) {
  const Value x = b_.input(0, Lane::I32), y = b_.input(1, Lane::I32);
  const Value less = b_.lt(x, y);
  EXPECT_EQ(b_.bit_or(less, b_.is_nan(y)).index, less.index);
  EXPECT_EQ(at(b_.is_nan(b_.input(2, Lane::F32))).op, Micro::Ne);
}

TEST_F(BuilderTest, BoolsBecomeMasksWithoutArithmetic) {
  const Value mask = b_.lt(b_.input(0, Lane::F32), b_.input(1, Lane::F32));
  const Value stored = b_.convert_to(mask, DType::Bool);
  EXPECT_EQ(b_.nonzero(stored).index, mask.index);
  EXPECT_EQ(b_.nonzero(b_.convert_to(stored, DType::F32)).index, mask.index);
  EXPECT_EQ(b_.convert_to(stored, DType::Bool).index, stored.index);
}

TEST_F(BuilderTest, RefusesMixedLanes) {
  const Value x = b_.input(0, Lane::F32), i = b_.input(1, Lane::I32);
  EXPECT_THROW(b_.add(x, i), InternalError);
  EXPECT_THROW(b_.div(i, i), InternalError);
  EXPECT_THROW(b_.select(x, x, x), InternalError);
  EXPECT_THROW(b_.bits_to_int(i), InternalError);
}

/// What a float64 becomes in storage, as PyTorch's CPU conversion gives it.
TEST_F(BuilderTest, ConvertsAsPyTorchDoes) {
  const auto whole = [&](double x, DType t) {
    return static_cast<std::int32_t>(at(b_.convert_to(b_.constant(Lane::F64, x), t)).imm);
  };
  EXPECT_EQ(whole(-1.5, DType::U8), 255);
  EXPECT_EQ(whole(300.5, DType::I8), 44);
  EXPECT_EQ(whole(NAN, DType::I8), 0);
  EXPECT_EQ(whole(3e9, DType::I32), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(whole(0.1, DType::Bool), 1);
  EXPECT_EQ(whole(-0.0, DType::Bool), 0);
  EXPECT_EQ(whole(NAN, DType::Bool), 1);
  // float64 to float16 by way of float32: the tie appears in the first rounding.
  EXPECT_EQ(float_of(b_.convert_to(b_.constant(Lane::F64, 1 + 0x1p-11 + 0x1p-40), DType::F16)),
            1.0F);
  EXPECT_EQ(float_of(b_.convert_to(b_.constant(Lane::F64, 65520), DType::F16)), INFINITY);
}

}  // namespace
}  // namespace spyre::kernels
