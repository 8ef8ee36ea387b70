// spyre/kernels/random_ops_test.cpp — the generator's published answers, ranges and rough statistics.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "spyre/kernels/interpreter.h"
#include "spyre/kernels/ops/random.h"

namespace spyre::kernels {
namespace {

/// The op over elements 0, 1, 2, … Confined to one test.
std::vector<std::uint64_t> generate(std::string_view name, std::size_t count, std::uint64_t seed,
                                    std::uint64_t offset, std::vector<std::uint64_t> more = {}) {
  const Op& row = op(op_named(name));
  MicroProgram program;
  Builder b(program);
  std::vector<Value> inputs;
  for (std::uint16_t i = 0; i < row.info.arity; ++i) inputs.push_back(b.input(i, Lane::I64));
  b.set_compute(DType::I64);
  const std::uint16_t result = row.body(b, inputs).index;
  std::vector<std::uint64_t> registers(program.size() * kBlockLanes), index(kBlockLanes), out;
  std::vector<LaneInput> lanes{{index.data(), false}, {&seed, true}, {&offset, true}};
  for (const std::uint64_t& value : more) lanes.push_back({&value, true});
  while (out.size() < count) {
    for (std::size_t i = 0; i < kBlockLanes; ++i) index[i] = out.size() + i;
    evaluate(program, lanes, kBlockLanes, registers.data());
    out.insert(out.end(), &registers[result * kBlockLanes],
               &registers[result * kBlockLanes] + kBlockLanes);
  }
  return out;
}

std::vector<double> floats(const std::vector<std::uint64_t>& cells) {
  std::vector<double> values;
  for (const std::uint64_t cell : cells)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(cell)));
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size());
}

constexpr std::size_t kMany = 1 << 16;

/// Known answers of Philox4x32-10 published with Random123.
TEST(Philox, GivesThePublishedAnswers) {
  const auto zeros = ops::reference_philox(0, 0, 0);
  EXPECT_EQ(zeros[0], 0xe169c58d'6627e8d5U);
  EXPECT_EQ(zeros[1], 0x9b00dbd8'bc57ac4cU);
  const std::uint64_t ones = ~std::uint64_t{0};
  const auto all = ops::reference_philox(ones, ones, ones);
  EXPECT_EQ(all[0], 0x41c83b0e'408f276dU);
  EXPECT_EQ(all[1], 0x6d5451fd'a20bc7c6U);
}

TEST(Philox, BodyGivesTheReferenceBits) {
  const std::uint64_t seed = 0x0123456789abcdefU, offset = 0xfedcba9876543210U;
  const std::vector<std::uint64_t> bits = generate("random_bits", 128, seed, offset);
  for (std::size_t i = 0; i < bits.size(); ++i)
    EXPECT_EQ(bits[i], ops::reference_philox(i / 2, seed, offset)[i % 2]);
}

TEST(RandomOps, NumbersDependOnSeedAndOffset) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t offset = 0; offset < 8; ++offset)
      firsts.insert(generate("random_bits", 1, seed, offset)[0]);
  EXPECT_EQ(firsts.size(), 64U);
}

TEST(RandomOps, UnitNumbersLieInTheHalfOpenInterval) {
  const std::vector<double> values = floats(generate("random_unit_float32", kMany, 1, 0));
  for (const double v : values) EXPECT_TRUE(v >= 0 && v < 1);
  EXPECT_NEAR(mean_of(values), 0.5, 0.005);
  EXPECT_NEAR(variance_of(values), 1.0 / 12, 0.002);
}

TEST(RandomOps, HalfPrecisionUnitsNeverRoundToOne) {
  for (const double v : floats(generate("random_unit_bfloat16", kMany, 2, 0)))
    EXPECT_LE(v, 1 - 0x1p-8);
  for (const double v : floats(generate("random_unit_float16", kMany, 2, 0)))
    EXPECT_LE(v, 1 - 0x1p-11);
}

TEST(RandomOps, NormalNumbersHaveTheirMoments) {
  const std::vector<double> values = floats(generate("random_normal_float32", kMany, 3, 0));
  EXPECT_NEAR(mean_of(values), 0, 0.015);
  EXPECT_NEAR(variance_of(values), 1, 0.02);
  for (const double v : values) EXPECT_TRUE(std::isfinite(v));
}

TEST(RandomOps, ExponentialNumbersArePositive) {
  const std::vector<double> values = floats(generate("random_exponential_float32", kMany, 4, 0));
  for (const double v : values) EXPECT_GT(v, 0);
  EXPECT_NEAR(mean_of(values), 1, 0.015);
}

TEST(RandomOps, IntegersCoverTheirRangeEvenly) {
  std::vector<int> counts(7);
  for (const std::uint64_t v :
       generate("random_integer", kMany, 5, 0, {static_cast<std::uint64_t>(-3), 7})) {
    const auto value = static_cast<std::int64_t>(v);
    ASSERT_TRUE(value >= -3 && value < 4) << value;
    ++counts[static_cast<std::size_t>(value + 3)];
  }
  for (const int n : counts) EXPECT_NEAR(n, static_cast<double>(kMany) / 7, 400);
}

TEST(RandomOps, IntegersOfAWideRange) {
  const std::uint64_t range = 0xffffffff'00000000U;
  for (const std::uint64_t v : generate("random_integer", 256, 6, 0, {0, range}))
    EXPECT_LT(v, range);
  EXPECT_EQ(generate("random_integer", 64, 6, 0, {0, 0}), generate("random_bits", 64, 6, 0));
}

}  // namespace
}  // namespace spyre::kernels
