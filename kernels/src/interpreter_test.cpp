// spyre/kernels/interpreter_test.cpp — the rule in each micro-op's name: NaN, signed zero, wrapping, faults.
#include "spyre/kernels/interpreter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

std::uint64_t cell(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t cell(double x) { return std::bit_cast<std::uint64_t>(x); }
std::uint64_t cell(std::int32_t x) { return static_cast<std::uint32_t>(x); }
std::uint64_t cell(std::int64_t x) { return static_cast<std::uint64_t>(x); }

template <class T>
constexpr Lane kLane = std::is_same_v<T, float>          ? Lane::F32
                       : std::is_same_v<T, double>       ? Lane::F64
                       : std::is_same_v<T, std::int32_t> ? Lane::I32
                                                         : Lane::I64;

template <class T> std::uint64_t run(Micro op, T a, T b = {}, T c = {}) {
  return evaluate_one({.op = op, .lane = kLane<T>}, kLane<T>, cell(a), cell(b), cell(c));
}
float run_f(Micro op, float a, float b = 0, float c = 0) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(run(op, a, b, c)));
}
std::int32_t run_i(Micro op, std::int32_t a, std::int32_t b = 0) {
  return static_cast<std::int32_t>(run(op, a, b));
}
template <class T> bool compare(Micro op, T a, T b) {
  return evaluate_one({.op = op, .lane = Lane::Mask}, kLane<T>, cell(a), cell(b), 0) != 0;
}

TEST(Interpreter, FloatArithmeticRoundsOncePerInstruction) {
  EXPECT_EQ(run_f(Micro::Add, 1, 0x1p-24F), 1.0F);
  const float x = 1 + 0x1p-12F;
  EXPECT_EQ(run_f(Micro::Fma, x, x, -1), std::fma(x, x, -1.0F));
  EXPECT_NE(run_f(Micro::Fma, x, x, -1), x * x - 1);
  EXPECT_EQ(run_f(Micro::Div, 1, 0), INFINITY);
  EXPECT_EQ(run_f(Micro::RoundEven, 2.5F), 2.0F);
  EXPECT_EQ(run_f(Micro::RoundEven, -0.5F), 0.0F);
  EXPECT_TRUE(std::signbit(run_f(Micro::RoundEven, -0.5F)));
}

TEST(Interpreter, NegAndAbsTouchOnlyTheSignBit) {
  const float nan = std::bit_cast<float>(0x7fc00123U);
  EXPECT_EQ(run(Micro::Neg, nan), 0xffc00123U);
  EXPECT_EQ(run(Micro::Abs, std::bit_cast<float>(0xffc00123U)), 0x7fc00123U);
  EXPECT_TRUE(std::signbit(run_f(Micro::Neg, 0.0F)));
}

TEST(Interpreter, MinAndMaxPropagateNanAndOrderZeros) {
  for (const Micro op : {Micro::MinNan, Micro::MaxNan}) {
    EXPECT_TRUE(std::isnan(run_f(op, NAN, 1)));
    EXPECT_TRUE(std::isnan(run_f(op, 1, NAN)));
  }
  EXPECT_TRUE(std::signbit(run_f(Micro::MinNan, 0.0F, -0.0F)));
  EXPECT_TRUE(std::signbit(run_f(Micro::MinNan, -0.0F, 0.0F)));
  EXPECT_FALSE(std::signbit(run_f(Micro::MaxNan, 0.0F, -0.0F)));
  EXPECT_FALSE(std::signbit(run_f(Micro::MaxNan, -0.0F, 0.0F)));
  EXPECT_EQ(run_f(Micro::MaxNan, -INFINITY, 3), 3.0F);
  EXPECT_EQ(run_i(Micro::MinNan, -4, 3), -4);
}

TEST(Interpreter, IntegersWrap) {
  EXPECT_EQ(run_i(Micro::Add, kMax, 1), kMin);
  EXPECT_EQ(run_i(Micro::Neg, kMin), kMin);
  EXPECT_EQ(run_i(Micro::Abs, kMin), kMin);
  EXPECT_EQ(run_i(Micro::Mul, 65536, 65536), 0);
  EXPECT_EQ(run(Micro::MulHiU32, std::int32_t{-1}, std::int32_t{-1}), 0xfffffffeU);
}

TEST(Interpreter, IntegerDivisionFollowsCAndFaultsByZero) {
  EXPECT_EQ(run_i(Micro::IntDivTrunc, -7, 2), -3);
  EXPECT_EQ(run_i(Micro::IntRem, -7, 2), -1);
  EXPECT_EQ(run_i(Micro::IntDivTrunc, kMin, -1), kMin);
  EXPECT_EQ(run_i(Micro::IntRem, kMin, -1), 0);
  EXPECT_THROW(run_i(Micro::IntDivTrunc, 1, 0), Error);
  EXPECT_THROW(run(Micro::IntRem, std::int64_t{1}, std::int64_t{0}), Error);
}

TEST(Interpreter, ShiftsByCountsOutsideTheWidth) {
  for (const std::int32_t count : {32, 64, -1, kMin}) {
    EXPECT_EQ(run_i(Micro::Shl, -1, count), 0) << count;
    EXPECT_EQ(run_i(Micro::ShrLogical, -1, count), 0) << count;
    EXPECT_EQ(run_i(Micro::ShrArith, -5, count), -1) << count;
    EXPECT_EQ(run_i(Micro::ShrArith, 5, count), 0) << count;
  }
  EXPECT_EQ(run_i(Micro::ShrLogical, -1, 31), 1);
  EXPECT_EQ(static_cast<std::int64_t>(run(Micro::ShrArith, std::int64_t{-8}, std::int64_t{2})), -2);
}

TEST(Interpreter, ComparisonsWithNanAreFalseExceptNe) {
  for (const Micro op : {Micro::Eq, Micro::Lt, Micro::Le}) {
    EXPECT_FALSE(compare<double>(op, NAN, 1.0));
    EXPECT_FALSE(compare<double>(op, 1.0, NAN));
    EXPECT_FALSE(compare(op, NAN, NAN));
  }
  EXPECT_TRUE(compare(Micro::Ne, NAN, NAN));
  EXPECT_TRUE(compare(Micro::Eq, 0.0F, -0.0F));
  EXPECT_TRUE(compare(Micro::Lt, std::int64_t{-1}, std::int64_t{0}));
}

TEST(Interpreter, FloatToIntegerTruncatesOrGivesTheIndefinite) {
  const auto to_i32 = [](double x) {
    return static_cast<std::int32_t>(
        evaluate_one({.op = Micro::ToI32, .lane = Lane::I32}, Lane::F64, cell(x), 0, 0));
  };
  EXPECT_EQ(to_i32(-1.9), -1);
  EXPECT_EQ(to_i32(2147483647.9), kMax);
  for (const double x : {0x1p31, -0x1p31 - 1, double{INFINITY}, -double{INFINITY}, double{NAN}})
    EXPECT_EQ(to_i32(x), kMin) << x;
  const auto to_i64 = [](float x) {
    return static_cast<std::int64_t>(
        evaluate_one({.op = Micro::ToI64, .lane = Lane::I64}, Lane::F32, cell(x), 0, 0));
  };
  EXPECT_EQ(to_i64(-0x1p62F), -(std::int64_t{1} << 62));
  EXPECT_EQ(to_i64(0x1p63F), std::numeric_limits<std::int64_t>::min());
}

TEST(Interpreter, IntegersNarrowAndWiden) {
  EXPECT_EQ(evaluate_one({.op = Micro::ToI32, .lane = Lane::I32}, Lane::I64,
                         cell(std::int64_t{0x1'8000'0001}), 0, 0),
            0x80000001U);
  EXPECT_EQ(static_cast<std::int64_t>(
                evaluate_one({.op = Micro::ToI64, .lane = Lane::I64}, Lane::I32, cell(-5), 0, 0)),
            -5);
  EXPECT_EQ(run_i(Micro::WrapI8, 200), -56);
  EXPECT_EQ(run_i(Micro::WrapU8, -1), 255);
  EXPECT_EQ(run_i(Micro::WrapI16, 40000), 40000 - 65536);
}

TEST(Interpreter, UniformInputsReachEveryLane) {
  const MicroProgram program{{.op = Micro::Input, .lane = Lane::I32, .imm = 0},
                             {.op = Micro::Input, .lane = Lane::I32, .imm = 1},
                             {.op = Micro::Add, .lane = Lane::I32, .a = 0, .b = 1}};
  std::vector<std::uint64_t> lanes(kBlockLanes), registers(3 * kBlockLanes, 99);
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = i;
  const std::uint64_t ten = 10;
  const std::vector<LaneInput> inputs{{lanes.data(), false}, {&ten, true}};
  evaluate(program, inputs, 5, registers.data());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(registers[2 * kBlockLanes + i], 10 + i);
  EXPECT_EQ(registers[2 * kBlockLanes + 5], 99U);
}

TEST(Interpreter, RejectsAnOpOnTheWrongLane) {
  EXPECT_THROW(run(Micro::Sqrt, 4), InternalError);
  EXPECT_THROW(run(Micro::Shl, 1.0F, 1.0F), InternalError);
}

}  // namespace
}  // namespace spyre::kernels
