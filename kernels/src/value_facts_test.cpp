// spyre/kernels/value_facts_test.cpp — every claim about a value, and what rounding makes of it.
#include "spyre/kernels/value_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "cpu_features.h"
#include "spec_builder.h"
#include "spyre/base/float16.h"
#include "spyre/kernels/builder.h"
#include "spyre/kernels/interpreter.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/lowering.h"

namespace spyre::kernels {
namespace {

std::ptrdiff_t count(const KernelSpec& spec, Micro op) {
  const MicroProgram program = lower(spec).passes[0].points.program;
  return std::ranges::count_if(program, [&](const auto& in) { return in.op == op; });
}

KernelSpec scaled(DType from, DType compute) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply("mul", compute, {b.load(from), b.param(DType::F32)}), compute);
  return b.spec();
}

TEST(ValueFactsTest, ArithmeticOnBfloat16RoundsInIntegersAlone) {
  EXPECT_EQ(count(scaled(DType::BF16, DType::BF16), Micro::RoundBF16ShortNan), 1);
  EXPECT_EQ(count(scaled(DType::BF16, DType::BF16), Micro::RoundBF16), 0);
}

TEST(ValueFactsTest, WhatMayBringAnyNanIsRoundedWithCare) {
  const KernelSpec spec = scaled(DType::F32, DType::BF16);
  EXPECT_EQ(count(spec, Micro::RoundBF16), 1) << "the conversion to bfloat16";
  EXPECT_EQ(count(spec, Micro::RoundBF16ShortNan), 1) << "the product of what that made";
}

TEST(ValueFactsTest, WhatFitsIsNotRoundedAgain) {
  for (const auto& [type, round] :
       {std::pair{DType::BF16, Micro::RoundBF16}, std::pair{DType::F16, Micro::RoundF16}}) {
    for (const char* name : {"relu", "abs", "neg", "floor", "trunc"}) {
      SpecBuilder b(Form::Pointwise);
      b.store(b.apply(name, type, {b.load(type)}), type);
      EXPECT_EQ(count(b.spec(), round) + count(b.spec(), Micro::RoundBF16ShortNan), 0) << name;
    }
  }
}

TEST(ValueFactsTest, OfConstants) {
  MicroProgram program;
  Builder b(program);
  const auto facts = [&](std::uint32_t bits) {
    const Value v = b.bits(Lane::F32, bits);
    return facts_of(program[v.index], program, {});
  };
  EXPECT_TRUE(facts(0x3f800000).fits_f16);
  EXPECT_TRUE(facts(0x3f800000).fits_bf16);
  EXPECT_FALSE(facts(0x3f808000).fits_bf16);
  EXPECT_TRUE(facts(0x3f808000).fits_f16);
  EXPECT_FALSE(facts(0x7f000000).fits_f16) << "beyond float16";
  EXPECT_TRUE(facts(0x3f800001).short_nan) << "not a NaN at all";
  EXPECT_FALSE(facts(0x7fc00001).short_nan);
}

/// Random words, many of them NaN, infinite, tiny or short.
class Words {
 public:
  /// One that `facts` allow.
  std::uint32_t of(const ValueFacts& facts) {
    while (true) {
      const std::uint32_t word = any();
      const auto value = std::bit_cast<float>(word);
      const bool is_nan = value != value, short_word = (word & 0xffff) == 0;
      if (facts.fits_bf16 && !short_word) continue;
      if (facts.fits_f16 && !is_nan && float16_value(float16_bits(value)) != value) continue;
      if (facts.short_nan && is_nan && !short_word) continue;
      return word;
    }
  }

 private:
  std::uint32_t any() {
    const auto word = static_cast<std::uint32_t>(random_());
    const std::uint32_t special[] = {word | 0x7f800000U, word & 0xbf000000U, word & 0x807fffffU,
                                     (word & 0x83ffffffU) | 0x3c000000U, word};
    const std::uint32_t chosen = special[random_() % 5];
    const std::uint32_t masks[] = {0xffffffffU, 0xffff0000U, 0xffffe000U};
    return chosen & masks[random_() % 3];
  }

  std::mt19937_64 random_{7};
};

/// Quiet: what arithmetic, of which alone facts speak, leaves of any NaN.
std::uint32_t quiet(std::uint32_t word) {
  const auto value = std::bit_cast<float>(word);
  return value != value ? word | 0x400000U : word;
}

TEST(ValueFactsTest, EveryClaimHoldsForTheInterpreter) {
  constexpr std::array kOps{Micro::Add,       Micro::Sub,    Micro::Mul,
                            Micro::Div,       Micro::Sqrt,   Micro::Fma,
                            Micro::Neg,       Micro::Abs,    Micro::MinNan,
                            Micro::MaxNan,    Micro::Floor,  Micro::Ceil,
                            Micro::RoundEven, Micro::Trunc,  Micro::RoundF16,
                            Micro::RoundBF16, Micro::Select, Micro::RoundBF16ShortNan};
  constexpr std::array<ValueFacts, 4> kKnown{ValueFacts{}, facts_of(DType::BF16),
                                             facts_of(DType::F16), ValueFacts{.short_nan = true}};
  Words words;
  for (const Micro op : kOps) {
    const bool selects = op == Micro::Select;
    for (int attempt = 0; attempt < 40000; ++attempt) {
      std::array<std::uint64_t, 3> cells{};
      MicroProgram program;
      std::vector<ValueFacts> facts;
      for (std::size_t k = 0; k < 3; ++k) {
        const bool mask = selects && k == 0;
        facts.push_back(mask ? ValueFacts{}
                             : kKnown[static_cast<std::size_t>(attempt >> 2 * k) % 4]);
        if (op == Micro::RoundBF16ShortNan) facts.back() = ValueFacts{.short_nan = true};
        cells[k] = mask ? attempt % 2 : quiet(words.of(facts.back()));
        program.push_back({.op = Micro::Input, .lane = mask ? Lane::Mask : Lane::F32, .imm = k});
      }
      const MicroInstruction in{.op = op, .lane = Lane::F32, .a = 0, .b = 1, .c = 2};
      const auto made = static_cast<std::uint32_t>(
          evaluate_one(in, program[0].lane, cells[0], cells[1], cells[2]));
      const ValueFacts claimed = facts_of(in, program, facts);
      const auto value = std::bit_cast<float>(made);
      const bool is_nan = value != value, short_word = (made & 0xffff) == 0;
      ASSERT_TRUE(!claimed.fits_bf16 || short_word) << name_of(op) << std::hex << ' ' << made;
      ASSERT_TRUE(!claimed.short_nan || !is_nan || short_word)
          << name_of(op) << std::hex << ' ' << made;
      ASSERT_TRUE(!claimed.fits_f16 || is_nan || float16_value(float16_bits(value)) == value)
          << name_of(op) << std::hex << ' ' << made;
    }
  }
}

TEST(ValueFactsTest, NumbersOfFloat64MayBringAnyNan) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply("mul", DType::BF16, {b.load(DType::F64), b.load(DType::F64)}), DType::BF16);
  EXPECT_EQ(count(b.spec(), Micro::RoundBF16), 2) << "the conversions of both";
}

/// The first element of a kernel with one input, one result and one parameter, all bfloat16.
std::uint16_t first_result(const Kernel& kernel, std::uint16_t input, std::uint32_t parameter) {
  alignas(64) std::uint16_t x[64], y[64] = {};
  std::ranges::fill(x, input);
  const std::uint64_t bases[] = {reinterpret_cast<std::uint64_t>(x),
                                 reinterpret_cast<std::uint64_t>(y)};
  const std::int64_t extents[] = {64}, strides[] = {2, 2};
  const std::uint64_t params[] = {parameter};
  std::vector<std::byte> scratch(kernel.scratch_bytes(extents).count + 64);
  kernel.run({bases, extents, strides, params}, 0, kernel.work_items(extents), scratch.data());
  return y[0];
}

TEST(ValueFactsTest, NumbersThatAreAnyNanGiveNan) {
  const KernelSpec spec = scaled(DType::BF16, DType::BF16);
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    if (!cpu_runs(isa)) continue;
    const auto kernel = compile(spec, isa);
    for (const std::uint32_t nan : {0x7fffffffU, 0xffffffffU, 0x7fc00000U, 0x7fff8000U})
      EXPECT_GT(first_result(*kernel, 0x3f80, nan) & 0x7fffU, 0x7f80U) << std::hex << nan;
    for (const int nan : {0x7fff, 0xffff, 0x7f81, 0x7fc0})
      EXPECT_GT(first_result(*kernel, static_cast<std::uint16_t>(nan), 0x3f800000) & 0x7fffU,
                0x7f80U)
          << std::hex << nan;
  }
}

}  // namespace
}  // namespace spyre::kernels
