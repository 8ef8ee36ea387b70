// spyre/kernels/math_function_test.cpp — every width gives the same bits, near the true value.
#include "spyre/kernels/math_function.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace spyre::kernels {
namespace {

/// Every exponent and sign, all specials: random bit patterns, and the values near which functions turn.
template <class T, class Bits> std::vector<T> samples(unsigned seed) {
  std::mt19937_64 random(seed);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> values{0,         -T{0},      1,
                        -1,        T{0.5},     -T{0.5},
                        2,         kInfinity,  -kInfinity,
                        100,       -100,       std::numeric_limits<T>::quiet_NaN(),
                        T{1e-30F}, T{-1e-30F}, std::numeric_limits<T>::denorm_min(),
                        T{710},    T{88.7F},   std::numeric_limits<T>::max()};
  while (values.size() < 20011) values.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
  std::normal_distribution<T> normal(0, 5);
  while (values.size() < 40009) values.push_back(normal(random));
  return values;
}

template <class T, class Bits>
void expect_equal_widths(MathFunction function, Lane lane, MathWidth width) {
  if (!cpu_runs(width)) GTEST_SKIP() << "this CPU lacks the instruction set";
  const std::vector<T> a = samples<T, Bits>(1), b = samples<T, Bits>(2);
  std::vector<T> out(a.size());
  lanes_function(function, lane, width)(a.data(), b.data(), out.data(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T one = call(function, a[i], b[i]);
    ASSERT_EQ(std::bit_cast<Bits>(one), std::bit_cast<Bits>(out[i]))
        << name_of(function) << "(" << a[i] << ", " << b[i] << ") = " << one << " or " << out[i];
  }
}

class EveryMathFunction : public testing::TestWithParam<std::size_t> {
 protected:
  MathFunction function() const { return static_cast<MathFunction>(GetParam()); }
};

TEST_P(EveryMathFunction, GivesTheSameBitsInAvx2) {
  expect_equal_widths<float, std::uint32_t>(function(), Lane::F32, MathWidth::Avx2);
  expect_equal_widths<double, std::uint64_t>(function(), Lane::F64, MathWidth::Avx2);
}

TEST_P(EveryMathFunction, GivesTheSameBitsInAvx512) {
  expect_equal_widths<float, std::uint32_t>(function(), Lane::F32, MathWidth::Avx512);
  expect_equal_widths<double, std::uint64_t>(function(), Lane::F64, MathWidth::Avx512);
}

TEST_P(EveryMathFunction, WritesOnlyItsLanes) {
  for (std::size_t lanes = 0; lanes <= 33; ++lanes) {
    std::vector<float> a(34, 1.0F), out(34, -7.0F);
    call_lanes(function(), Lane::F32, lanes, a.data(), a.data(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], i < lanes ? call(function(), 1.0F, 1.0F) : -7.0F);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryMathFunction,
                         testing::Range<std::size_t>(0, kMathFunctionCount), [](const auto& test) {
                           return std::string(name_of(static_cast<MathFunction>(test.param)));
                         });

TEST(MathFunction, RowsMatchTheirNames) {
  EXPECT_FLOAT_EQ(call(MathFunction::Sin, 1.0F), std::sin(1.0F));
  EXPECT_DOUBLE_EQ(call(MathFunction::Log1p, 0.25), std::log1p(0.25));
  EXPECT_DOUBLE_EQ(call(MathFunction::Pow, 2.0, 10.0), 1024.0);
  EXPECT_DOUBLE_EQ(call(MathFunction::Atan2, 1.0, -1.0), std::atan2(1.0, -1.0));
  EXPECT_EQ(call(MathFunction::Fmod, 1e30F, 3.0F), std::fmod(1e30F, 3.0F));
}

}  // namespace
}  // namespace spyre::kernels
