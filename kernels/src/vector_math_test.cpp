// spyre/kernels/vector_math_test.cpp — stated bounds over all magnitudes, exact values at the edges, sizes.
#include "spyre/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "spyre/kernels/interpreter.h"

namespace spyre::kernels {
namespace {

using Body = Value (*)(Builder&, Value);

template <MathFunction F> Value library(Builder& b, Value x) {
  return vector_math::library(b, F, x);
}

struct Function {
  const char* name;
  Body body;
  double (*reference)(double);
  double max_ulp;
  std::size_t max_micro_ops;  // constants not counted
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const Function kFunctions[]{
    {"exp", vector_math::exp, std::exp, 1, 27},
    {"expm1", vector_math::expm1, std::expm1, 1.5, 26},
    {"log", vector_math::log, std::log, 1, 35},
    {"log1p", vector_math::log1p, std::log1p, 1.5, 37},
    {"sigmoid", vector_math::sigmoid, sigmoid, 2.5, 30},
    {"tanh", vector_math::tanh, std::tanh, 2.5, 27},
    {"erf", vector_math::erf, std::erf, 1.5, 40},
    {"asinh", vector_math::asinh, std::asinh, 2, 60},
    {"acosh", vector_math::acosh, std::acosh, 2, 60},
    {"sin", library<MathFunction::Sin>, std::sin, 1, 2},
    {"cos", library<MathFunction::Cos>, std::cos, 1, 2},
    {"tan", library<MathFunction::Tan>, std::tan, 1, 2},
    {"asin", library<MathFunction::Asin>, std::asin, 1, 2},
    {"acos", library<MathFunction::Acos>, std::acos, 1, 2},
    {"atan", library<MathFunction::Atan>, std::atan, 1, 2},
    {"sinh", vector_math::sinh, std::sinh, 3, 40},
    {"cosh", vector_math::cosh, std::cosh, 3, 40},
    {"atanh", library<MathFunction::Atanh>, std::atanh, 1.5, 2},
    {"exp2", library<MathFunction::Exp2>, std::exp2, 1, 2},
    {"log2", library<MathFunction::Log2>, std::log2, 1, 2},
    {"log10", library<MathFunction::Log10>, std::log10, 1, 2},
    {"erfc", library<MathFunction::Erfc>, std::erfc, 1.5, 2},
};

/// A body as a float function over blocks of lanes. Confined to one test.
class FloatFunction {
 public:
  explicit FloatFunction(Body body) {
    Builder b(program_);
    result_ = body(b, b.input(0, Lane::F32)).index;
    registers_.resize(program_.size() * kBlockLanes);
  }

  float operator()(float x) {
    std::vector<float> one{x};
    apply(one);
    return one[0];
  }

  void apply(std::vector<float>& values) {
    std::vector<std::uint64_t> cells(kBlockLanes);
    const std::vector<LaneInput> inputs{{cells.data(), false}};
    for (std::size_t first = 0; first < values.size(); first += kBlockLanes) {
      const std::size_t count = std::min(values.size() - first, kBlockLanes);
      for (std::size_t i = 0; i < count; ++i)
        cells[i] = std::bit_cast<std::uint32_t>(values[first + i]);
      evaluate(program_, inputs, count, registers_.data());
      for (std::size_t i = 0; i < count; ++i)
        values[first + i] =
            std::bit_cast<float>(static_cast<std::uint32_t>(registers_[result_ * kBlockLanes + i]));
    }
  }

  std::size_t micro_ops() const {
    return static_cast<std::size_t>(
        std::count_if(program_.begin(), program_.end(), [](const auto& in) {
          return in.op != Micro::Const && in.op != Micro::BitsToFloat && in.op != Micro::BitsToInt;
        }));
  }

 private:
  MicroProgram program_;
  std::uint16_t result_ = 0;
  std::vector<std::uint64_t> registers_;
};

double ulps_between(float got, double expected) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded || std::fabs(expected) > 3.4028e38 ? 0 : INFINITY;
  const int exponent = rounded == 0 ? -149 : std::max(std::ilogb(rounded) - 23, -149);
  return std::fabs(got - expected) / std::ldexp(1.0, exponent);
}

/// Every 1009th float of either sign, and a dense stretch where the functions bend.
std::vector<float> sweep() {
  std::vector<float> values{0.0F, -0.0F, INFINITY, -INFINITY, NAN};
  for (std::uint64_t bits = 0; bits < (1ULL << 32); bits += 1009 * 7)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  std::mt19937 random(3);
  std::uniform_real_distribution<float> bend(-4, 4), wide(-110, 110);
  for (int i = 0; i < 200000; ++i) values.push_back(bend(random));
  for (int i = 0; i < 100000; ++i) values.push_back(wide(random));
  return values;
}

class VectorMath : public testing::TestWithParam<Function> {};

TEST_P(VectorMath, StaysWithinItsBound) {
  const Function& function = GetParam();
  static const std::vector<float> kSweep = sweep();
  std::vector<float> results = kSweep;
  FloatFunction(function.body).apply(results);
  double worst = 0;
  float where = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double error = ulps_between(results[i], function.reference(kSweep[i]));
    if (error > worst) worst = error, where = kSweep[i];
  }
  EXPECT_LE(worst, function.max_ulp) << "at " << where;
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST_P(VectorMath, StaysSmall) {
  EXPECT_LE(FloatFunction(GetParam().body).micro_ops(), GetParam().max_micro_ops);
}

INSTANTIATE_TEST_SUITE_P(Table, VectorMath, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(VectorMathEdges, ExponentialOverflowsAndUnderflowsGradually) {
  FloatFunction exp(vector_math::exp);
  EXPECT_EQ(exp(-INFINITY), 0.0F);
  EXPECT_EQ(exp(INFINITY), INFINITY);
  EXPECT_EQ(exp(0.0F), 1.0F);
  EXPECT_EQ(exp(89.0F), INFINITY);
  EXPECT_LT(exp(88.72F), INFINITY);
  EXPECT_GT(exp(-103.0F), 0.0F);
  EXPECT_EQ(exp(-104.0F), 0.0F);
  EXPECT_TRUE(std::isnan(exp(NAN)));
}

TEST(VectorMathEdges, OddFunctionsKeepSignedZero) {
  for (const Body body : {Body{vector_math::tanh}, Body{vector_math::erf}, Body{vector_math::expm1},
                          Body{vector_math::log1p}, Body{vector_math::asinh}}) {
    FloatFunction f(body);
    EXPECT_TRUE(std::signbit(f(-0.0F)));
    EXPECT_FALSE(std::signbit(f(0.0F)));
  }
}

TEST(VectorMathEdges, SaturatingFunctionsNeverPassOne) {
  FloatFunction tanh(vector_math::tanh), erf(vector_math::erf), sigmoid_f(vector_math::sigmoid);
  for (float x = 0; x < 20; x += 0.001F) {
    EXPECT_LE(tanh(x), 1.0F);
    EXPECT_LE(erf(x), 1.0F);
    EXPECT_LE(sigmoid_f(x), 1.0F);
  }
  EXPECT_EQ(tanh(-100.0F), -1.0F);
  EXPECT_EQ(erf(INFINITY), 1.0F);
}

}  // namespace
}  // namespace spyre::kernels
