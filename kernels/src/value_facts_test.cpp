#include "spyre/kernels/value_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu_features.h"
#include "spec_builder.h"
#include "spyre/base/float16.h"
#include "spyre/kernels/builder.h"
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
