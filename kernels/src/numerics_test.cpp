// spyre/kernels/numerics_test.cpp — the card's rounding against DLFloat16's definition.
#include "spyre/kernels/numerics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "spyre/base/dlfloat16.h"
#include "spyre/base/float16.h"
#include "spyre/kernels/builder.h"
#include "spyre/kernels/interpreter.h"
#include "spyre/kernels/kernel_spec.h"

namespace spyre::kernels {
namespace {

/// What memory of type `t` gives back of each value.
std::vector<float> stored(const std::vector<float>& values, DType t) {
  MicroProgram program;
  Builder b(program, Numerics::Card);
  const std::size_t result = b.round_to_storage(b.input(0, Lane::F32), t).index;
  std::vector<std::uint64_t> registers(program.size() * kBlockLanes), cells;
  for (const float value : values) cells.push_back(std::bit_cast<std::uint32_t>(value));
  std::vector<float> results;
  for (std::size_t at = 0; at < cells.size(); at += kBlockLanes) {
    const std::size_t lanes = std::min(kBlockLanes, cells.size() - at);
    const LaneInput input{&cells[at]};
    evaluate(program, {&input, 1}, lanes, registers.data());
    for (std::size_t i = 0; i < lanes; ++i)
      results.push_back(
          std::bit_cast<float>(static_cast<std::uint32_t>(registers[result * kBlockLanes + i])));
  }
  return results;
}

float on_card(float value) {
  if (std::isinf(value)) return value;
  const float back = dlfloat16_value(dlfloat16_bits(value));
  return std::isnan(back) && !std::isnan(value)
             ? std::copysign(std::numeric_limits<float>::infinity(), value)
             : back;
}

float in_float16(float value) {
  const float back = float16_value(float16_bits(on_card(value)));
  return std::isinf(back) && std::abs(value) < 65520.0F ? std::copysign(65472.0F, value) : back;
}

/// Every bfloat16, and the numbers around every rounding boundary of DLFloat16.
std::vector<float> probes() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x1'0000; ++high) {
    values.push_back(std::bit_cast<float>(high << 16));
    const auto code =
        std::bit_cast<std::uint32_t>(dlfloat16_value(static_cast<std::uint16_t>(high)));
    for (const std::uint32_t beside : {0U, 0x1fffU, 0x2000U, 0x2001U})
      values.push_back(std::bit_cast<float>(code + beside));
  }
  return values;
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST(Numerics, Float16HoldsWhatTheCardHolds) {
  const std::vector<float> values = probes(), found = stored(values, DType::F16);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(same(found[i], in_float16(values[i]))) << values[i] << " gives " << found[i];
}

TEST(Numerics, Bfloat16HoldsWhatTheCardHolds) {
  const std::vector<float> values = probes(), found = stored(values, DType::BF16);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(same(found[i], bfloat16_value(bfloat16_bits(on_card(values[i])))))
        << values[i] << " gives " << found[i];
}

TEST(Numerics, Float32IsItself) {
  EXPECT_EQ(stored({0.1F, 1e30F}, DType::F32), (std::vector<float>{0.1F, 1e30F}));
}

TEST(Numerics, Int64IsInt32) {
  MicroProgram program;
  Builder b(program, Numerics::Card);
  const auto kept = [&](std::uint64_t value) {
    return static_cast<std::int64_t>(
        program[b.round_to_storage(b.bits(Lane::I64, value), DType::I64).index].imm);
  };
  EXPECT_EQ(kept(5), 5);
  EXPECT_EQ(kept(static_cast<std::uint64_t>(-5)), -5);
  EXPECT_EQ(kept((1ULL << 31) + 1), -(1LL << 31) + 1);
  EXPECT_EQ(kept(1ULL << 40), 0);
}

TEST(Numerics, AreInTheKey) {
  KernelSpec ieee, card, quirks;
  card.numerics = Numerics::Card;
  quirks.numerics = Numerics::Quirks;
  EXPECT_NE(ieee.key(), card.key());
  EXPECT_NE(ieee.print(), card.print());
  EXPECT_NE(card.key(), quirks.key());
  EXPECT_NE(card.print(), quirks.print());
}

float applied(std::string_view op, Numerics numerics, DType type, std::vector<float> operands) {
  MicroProgram program;
  Builder b(program, numerics);
  b.set_compute(type);
  std::vector<Value> inputs;
  for (const float x : operands)
    inputs.push_back(b.bits(Lane::F32, std::bit_cast<std::uint32_t>(x)));
  const Value result = kernels::op(op_named(op)).body(b, inputs);
  return std::bit_cast<float>(static_cast<std::uint32_t>(program[result.index].imm));
}

TEST(Quirks, NothingAndNothingIsSomething) {
  EXPECT_EQ(applied("add", Numerics::Quirks, DType::F16, {0.0F, -0.0F}), 0x1p-14F);
  EXPECT_EQ(applied("add", Numerics::Quirks, DType::F16, {1.0F, -1.0F}), 0.0F);
  EXPECT_EQ(applied("add", Numerics::Quirks, DType::F32, {0.0F, 0.0F}), 0.0F);
  EXPECT_EQ(applied("add", Numerics::Card, DType::F16, {0.0F, 0.0F}), 0.0F);
}

TEST(Quirks, FloorAndCeilAtZero) {
  EXPECT_EQ(applied("floor", Numerics::Quirks, DType::BF16, {-0.0F}), -1.0F);
  EXPECT_EQ(applied("floor", Numerics::Quirks, DType::BF16, {0.0F}), 0.0F);
  EXPECT_EQ(applied("ceil", Numerics::Quirks, DType::F16, {0.0F}), 1.0F);
  EXPECT_EQ(applied("ceil", Numerics::Quirks, DType::F16, {-0.5F}), -0.0F);
  EXPECT_EQ(applied("ceil", Numerics::Card, DType::F16, {0.0F}), 0.0F);
}

}  // namespace
}  // namespace spyre::kernels
