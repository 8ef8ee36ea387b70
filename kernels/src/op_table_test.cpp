// spyre/kernels/op_table_test.cpp — each op's body against its independent reference, in each compute type.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/kernels/interpreter.h"
#include "spyre/kernels/kernel_spec.h"
#include "storage_cell.h"

namespace spyre::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactIntegers = 0x1p53;

bool is_random(const OpInfo& info) { return info.name.starts_with("random_"); }

DType result_type(const OpInfo& info, DType compute) {
  if (info.types == TypeRule::Compare || info.types == TypeRule::ToBool) return DType::Bool;
  if (info.name.starts_with("random_unit") || info.name.ends_with("float64")) return DType::F64;
  if (info.name.ends_with("float32")) return DType::F32;
  return compute;
}

/// Significand bits of a storage type, and the exponent of its smallest number.
struct Precision {
  int bits, smallest;
  double largest;
};
Precision precision_of(DType t) {
  switch (t) {
    case DType::F16: return {11, -24, 65504.0};
    case DType::BF16: return {8, -133, 3.3895313892515355e38};
    case DType::F32: return {24, -149, 3.4028234663852886e38};
    default: return {53, -1074, std::numeric_limits<double>::max()};
  }
}

double ulp_of(double x, DType t) {
  const Precision p = precision_of(t);
  if (x == 0 || !std::isfinite(x)) return std::ldexp(1.0, p.smallest);
  return std::ldexp(1.0, std::max(std::ilogb(x) - p.bits + 1, p.smallest));
}

double smallest_normal(DType t) {
  return std::ldexp(1.0, precision_of(t).smallest + precision_of(t).bits - 1);
}

std::uint64_t cell_of(double value, DType t) {
  MicroProgram program;
  Builder b(program);
  const Value wide =
      is_float(t) ? b.constant(Lane::F64, value)
                  : b.bits(Lane::I64, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  return program[b.convert_to(wide, t).index].imm;
}

double value_of(std::uint64_t cell, DType t) {
  switch (lane_of(t)) {
    case Lane::F32: return std::bit_cast<float>(static_cast<std::uint32_t>(cell));
    case Lane::F64: return std::bit_cast<double>(cell);
    case Lane::I64: return static_cast<double>(static_cast<std::int64_t>(cell));
    default: return static_cast<std::int32_t>(cell);
  }
}

/// One op as a one-step kernel program.
class OneOp {
 public:
  OneOp(OpId id, DType compute) : info_(op(id).info), compute_(compute) {
    KernelSpec spec{.form = Form::Pointwise};
    Step step{.kind = Step::Kind::Apply,
              .op = id,
              .compute = compute,
              .result = result_type(info_, compute),
              .level = Level::Element};
    std::vector<Value> values;
    Builder b(program_);
    for (std::uint16_t i = 0; i < info_.arity; ++i) {
      spec.arguments.push_back({.kind = ArgumentSpec::Kind::Load, .dtype = compute});
      spec.steps.push_back(
          {.kind = Step::Kind::Load, .result = compute, .level = Level::Element, .argument = i});
      values.push_back(b.input(i, lane_of(compute)));
      step.inputs.push_back(i);
    }
    spec.steps.push_back(step);
    spec.verify();
    result_ = apply(b, spec, info_.arity, values).index;
  }

  double operator()(const std::vector<double>& x) const {
    std::vector<std::uint64_t> cells, registers(program_.size() * kBlockLanes);
    std::vector<LaneInput> inputs;
    for (const double v : x) cells.push_back(cell_of(v, compute_));
    for (const std::uint64_t& cell : cells) inputs.push_back({&cell, true});
    evaluate(program_, inputs, 1, registers.data());
    return value_of(registers[result_ * kBlockLanes], result_type(info_, compute_));
  }

 private:
  OpInfo info_;
  DType compute_;
  MicroProgram program_;
  std::uint16_t result_ = 0;
};

/// Inputs of one op, as values that the compute type holds exactly. Confined to one test.
class Sampler {
 public:
  Sampler(const OpInfo& info, DType compute) : info_(info), compute_(compute) {}

  std::vector<double> next(int round) {
    std::vector<double> x;
    for (int i = 0; i < info_.arity; ++i)
      x.push_back(rounded(is_float(compute_) ? real(i, round) : whole(i, round)));
    return x;
  }

 private:
  double rounded(double v) const { return value_of(cell_of(v, compute_), compute_); }

  /// One special value at a time; unary functions also see every magnitude.
  double real(int input, int round) {
    static constexpr double kSpecials[]{0.0, -0.0, kInfinity, -kInfinity, NAN,   1.0,   -1.0,
                                        0.5, -0.5, 3.0,       -3.0,       100.0, -100.0};
    const int special = round - input * static_cast<int>(std::size(kSpecials));
    if (special >= 0 && special < static_cast<int>(std::size(kSpecials))) return kSpecials[special];
    if (info_.arity == 1 && round % 2 == 0) {
      const double exponent = std::uniform_real_distribution<double>(-62, 62)(random_);
      return (random_() % 2 ? 1 : -1) * std::exp2(exponent);
    }
    const double v = std::normal_distribution<double>(0, round % 3 ? 1.5 : 10)(random_);
    // Products of coarse numbers are exact: functions of them see the reference's argument.
    const bool coarse = info_.cost == Cost::Transcendental && info_.arity > 1;
    return coarse ? std::round(v * 64) / 64 : v;
  }

  double whole(int input, int round) {
    if (is_random(info_)) return std::uniform_int_distribution<int>(0, 1000)(random_);
    if (compute_ == DType::Bool) return static_cast<double>(random_() % 2);
    if (round % 4 == input % 4) return std::uniform_int_distribution<int>(-3, 70)(random_);
    const int most = 8 * size_of(compute_) > 16 ? 1 << 17 : 1 << (8 * size_of(compute_) - 1);
    return std::uniform_int_distribution<int>(compute_ == DType::U8 ? 0 : -most, most - 1)(random_);
  }

  const OpInfo& info_;
  DType compute_;
  std::mt19937_64 random_{7};
};

/// PyTorch rounds a 16-bit quotient before it drops the fraction; the reference cannot know.
bool rounds_inside(const OpInfo& info, DType compute) {
  return info.name == "div_trunc" && is_reduced_float(compute);
}

/// Where digits cancel, infinity times what is left has no one answer.
bool has_answer(const OpInfo& info, const std::vector<double>& x) {
  return !info.cancels || std::none_of(x.begin(), x.end(), [](double v) { return std::isinf(v); });
}

/// What storage of an integer type makes of an exact whole number.
double wrapped(double v, DType t) { return t == DType::Bool ? v != 0 : value_of(cell_of(v, t), t); }

/// The error that op and type allow around `expected`.
double allowance(const OpInfo& info, DType result, double expected, const std::vector<double>& x) {
  // Near underflow an intermediate value loses the digits.
  double scale = std::max(std::fabs(expected), 256 * smallest_normal(result));
  if (info.cancels) {
    scale = std::max(scale, 1.0);
    for (const double v : x)
      if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  }
  // float64 has no better oracle than float64, whose formula has errors of its own.
  if (result == DType::F64) return (2 * info.max_ulp + 8) * ulp_of(scale, result);
  if (result == DType::F32) return (info.max_ulp + 1e-6) * ulp_of(scale, result);
  return 0.5 * ulp_of(scale, result) + (info.max_ulp + 1) * ulp_of(scale, DType::F32);
}

testing::AssertionResult agrees(const OpInfo& info, DType result, double got, double expected,
                                const std::vector<double>& x) {
  const auto failure = [&] {
    auto f = testing::AssertionFailure() << info.name << " in " << name_of(result) << " gives "
                                         << got << ", expected " << expected << " for";
    for (const double v : x) f << ' ' << v;
    return f << ": off by " << std::fabs(got - expected) / ulp_of(expected, result) << " ulp";
  };
  if (!is_float(result)) {
    if (got == wrapped(expected, result)) return testing::AssertionSuccess();
    return failure();
  }
  const double allowed = allowance(info, result, expected, x);
  const Precision p = precision_of(result);
  if (std::isnan(expected)) return std::isnan(got) ? testing::AssertionSuccess() : failure();
  if (std::isinf(expected)) return got == expected ? testing::AssertionSuccess() : failure();
  if (std::isinf(got) && std::fabs(expected) + allowed > p.largest && got * expected > 0)
    return testing::AssertionSuccess();
  return std::fabs(got - expected) <= allowed ? testing::AssertionSuccess() : failure();
}

using OpAndType = std::pair<std::uint16_t, DType>;

std::vector<OpAndType> every_op_and_type() {
  std::vector<OpAndType> all;
  for (std::uint16_t i = 0; i < op_table().size(); ++i)
    for (unsigned t = 0; t < kDTypeCount; ++t)
      if (op_table()[i].info.computes.has(static_cast<DType>(t)) &&
          !rounds_inside(op_table()[i].info, static_cast<DType>(t)))
        all.emplace_back(i, static_cast<DType>(t));
  return all;
}

class EveryOp : public testing::TestWithParam<OpAndType> {};

TEST_P(EveryOp, MatchesItsReference) {
  const auto [index, compute] = GetParam();
  const Op& row = op_table()[index];
  const OneOp run(OpId{index}, compute);
  const DType result = result_type(row.info, compute);
  Sampler sampler(row.info, compute);
  int failures = 0, compared = 0;
  for (int round = 0; round < 4000 && failures < 3; ++round) {
    const std::vector<double> x = sampler.next(round);
    if (row.info.arity > 1 && !has_answer(row.info, x)) continue;
    const double expected = row.ref(x);
    if (!is_float(compute) && !(std::fabs(expected) < kExactIntegers))
      continue;  // by zero, or no oracle
    const auto verdict = agrees(row.info, result, run(x), expected, x);
    EXPECT_TRUE(verdict) << verdict.message();
    failures += verdict ? 0 : 1;
    ++compared;
  }
  EXPECT_TRUE(compared > 300 || row.info.name == "random_bits");
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOp, testing::ValuesIn(every_op_and_type()),
                         [](const auto& test) {
                           return str(op_table()[test.param.first].info.name, '_',
                                      name_of(test.param.second));
                         });

TEST(OpTable, NamesLeadToTheirRows) {
  for (std::uint16_t i = 0; i < op_table().size(); ++i)
    EXPECT_EQ(op_named(op_table()[i].info.name), OpId{i});
}

TEST(OpTable, SuggestsNamesForAnUnknownOne) {
  try {
    op_named("sigmoyd");
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_NE(std::string(e.what()).find("sigmoid"), std::string::npos) << e.what();
  }
}

TEST(OpTable, RowsAreComplete) {
  for (const Op& row : op_table()) {
    EXPECT_FALSE(row.info.doc.empty()) << row.info.name;
    EXPECT_GE(row.info.max_ulp, 0.5) << row.info.name;
    EXPECT_EQ(row.info.signature == Signature::Internal, row.info.aten.empty()) << row.info.name;
    EXPECT_NE(row.info.computes.bits, 0) << row.info.name;
  }
}

}  // namespace
}  // namespace spyre::kernels
