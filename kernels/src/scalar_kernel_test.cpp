// spyre/kernels/scalar_kernel_test.cpp — the interpreter's loops, levels and reductions against plain C++ loops.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "spec_builder.h"
#include "spyre/base/error.h"
#include "spyre/base/float16.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

/// Arguments of one launch over plain vectors. Confined to one test.
class Launch {
 public:
  explicit Launch(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  /// Strides in elements.
  template <class T> Launch& tensor(std::vector<T>& data, std::vector<std::int64_t> strides) {
    bases_.push_back(reinterpret_cast<std::uint64_t>(data.data()));
    for (const std::int64_t s : strides)
      strides_.push_back(s * static_cast<std::int64_t>(sizeof(T)));
    return *this;
  }
  Launch& counter(std::int64_t first, std::vector<std::int64_t> strides) {
    bases_.push_back(static_cast<std::uint64_t>(first));
    strides_.insert(strides_.end(), strides.begin(), strides.end());
    return *this;
  }
  template <class T> Launch& param(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    params_.push_back(bits);
    return *this;
  }

  /// Runs the items back to front, which must not matter.
  void run(const KernelSpec& spec) const {
    const std::unique_ptr<Kernel> kernel = interpret(spec);
    const LaunchArguments arguments{bases_.data(), extents_.data(), strides_.data(),
                                    params_.data()};
    for (std::int64_t i = kernel->work_items(extents_.data()); i-- > 0;)
      kernel->run(arguments, i, i + 1, nullptr);
  }

 private:
  std::vector<std::int64_t> extents_, strides_;
  std::vector<std::uint64_t> bases_, params_;
};

std::vector<float> random_floats(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

TEST(ScalarKernel, PointwiseOverStridesAndBlocks) {
  SpecBuilder b(Form::Pointwise, 2);
  const auto x = b.load(DType::F32), y = b.load(DType::F32, InnerStride::Any),
             p = b.param(DType::F32);
  b.store(b.apply("add_scaled", DType::F32, {x, y, p}), DType::F32);
  const std::int64_t rows = 2, columns = 4500;  // more than one block
  std::vector<float> a = random_floats(9000), c = random_floats(9000, 2), out(9000);
  Launch({rows, columns})
      .tensor(a, {columns, 1})
      .tensor(c, {1, rows})
      .tensor(out, {columns, 1})
      .param(0.5F)
      .run(b.spec());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(out[static_cast<std::size_t>(i * columns + j)],
                std::fma(c[static_cast<std::size_t>(i + j * rows)], 0.5F,
                         a[static_cast<std::size_t>(i * columns + j)]));
}

TEST(ScalarKernel, RoundsToTheStorageTypeAtEveryStep) {
  SpecBuilder b(Form::Pointwise);
  const auto x = b.load(DType::F16), y = b.load(DType::F16);
  const auto product = b.apply("mul", DType::F16, {x, y});
  b.store(b.apply("mul", DType::F16, {product, product}), DType::F16);
  std::vector<std::uint16_t> a{float16_bits(1.001F), float16_bits(300)},
      c{float16_bits(3.3F), float16_bits(300)}, out(2);
  Launch({2}).tensor(a, {1}).tensor(c, {1}).tensor(out, {1}).run(b.spec());
  const float once = float16_value(float16_bits(float16_value(a[0]) * float16_value(c[0])));
  EXPECT_EQ(out[0], float16_bits(once * once));
  EXPECT_EQ(out[1], 0x7c00);  // 90000 is infinity already
}

TEST(ScalarKernel, WideScalarsKeepTheirPrecision) {
  SpecBuilder b(Form::Pointwise);
  const auto x = b.load(DType::F16), p = b.param(DType::F32);
  b.store(b.apply("mul", DType::F16, {x, p}), DType::F16);
  std::vector<std::uint16_t> a{float16_bits(3)}, out(1);
  Launch({1}).tensor(a, {1}).tensor(out, {1}).param(0.1F).run(b.spec());
  EXPECT_EQ(out[0], float16_bits(3 * 0.1F));
  EXPECT_NE(out[0], float16_bits(3 * float16_value(float16_bits(0.1F))));
}

TEST(ScalarKernel, CastsAreConversionsOfTheBoundary) {
  SpecBuilder b(Form::Pointwise);
  const auto x = b.load(DType::F64);
  b.store(b.apply("cast", DType::F64, DType::U8, {x}), DType::U8);
  b.store(b.apply("cast", DType::F64, DType::Bool, {x}), DType::Bool);
  std::vector<double> a{-1.5, 300.7, 0.2, NAN};
  std::vector<std::uint8_t> bytes(4), bools(4);
  Launch({4}).tensor(a, {1}).tensor(bytes, {1}).tensor(bools, {1}).run(b.spec());
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{255, 44, 0, 0}));
  EXPECT_EQ(bools, (std::vector<std::uint8_t>{1, 1, 1, 1}));
}

TEST(ScalarKernel, CountersNeedNoMemory) {
  SpecBuilder b(Form::Pointwise, 2);
  const auto i = b.iota();
  b.store(b.apply("cast", DType::I64, DType::I32, {i}), DType::I32);
  std::vector<std::int32_t> out(6);
  Launch({2, 3}).counter(10, {100, -1}).tensor(out, {3, 1}).run(b.spec());
  EXPECT_EQ(out, (std::vector<std::int32_t>{10, 9, 8, 110, 109, 108}));
}

/// 16 interleaved float64 lanes, each of runs of four added in float32, folded pairwise: the order of op.h.
double row_sum(const float* x, std::size_t n) {
  std::array<double, 16> lanes{};
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 64 >= 16) continue;
    float run = x[i];
    for (std::size_t k = i + 16; k < std::min(i + 64, n); k += 16) run += x[k];
    lanes[i % 16] += run;
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

TEST(ScalarKernel, RowSumsAddRunsThenFoldSixteenLanes) {
  SpecBuilder b(Form::Row, 2);
  const auto x = b.load(DType::F32);
  b.store(b.reduce(Reduction::Sum, DType::F32, DType::F64, x), DType::F64, InnerStride::Zero);
  const std::size_t n = 1003;
  std::vector<float> a = random_floats(3 * n);
  for (std::size_t i = 0; i < a.size(); i += 7) a[i] *= 1e9F;  // so that the order matters
  std::vector<double> out(3);
  Launch({3, 1003}).tensor(a, {1003, 1}).tensor(out, {1, 0}).run(b.spec());
  for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(out[r], row_sum(&a[r * n], n));
}

TEST(ScalarKernel, RowResultsFeedElementsOfTheSameRow) {
  SpecBuilder b(Form::Row, 2);
  const auto x = b.load(DType::F32);
  const auto most = b.reduce(Reduction::Max, DType::F32, DType::F32, x);
  const auto one = b.param(DType::F32);
  b.store(b.apply("sub_scaled", DType::F32, {x, most, one}), DType::F32);
  b.store(b.reduce(Reduction::ArgMax, DType::F32, DType::I64, x), DType::I64, InnerStride::Zero);
  std::vector<float> a{1, 5, 2, 5, -1, -7, -3, -1}, out(8);
  std::vector<std::int64_t> where(2);
  Launch({2, 4})
      .tensor(a, {4, 1})
      .tensor(out, {4, 1})
      .tensor(where, {1, 0})
      .param(1.0F)
      .run(b.spec());
  EXPECT_EQ(out, (std::vector<float>{-4, 0, -3, 0, 0, -6, -2, 0}));
  EXPECT_EQ(where, (std::vector<std::int64_t>{1, 0}));
}

TEST(ScalarKernel, OutputMayReplaceInput) {
  SpecBuilder b(Form::Row, 1);
  const auto x = b.load(DType::F32);
  const auto sum = b.reduce(Reduction::Sum, DType::F32, DType::F32, x);
  b.store(b.apply("div", DType::F32, {x, sum}), DType::F32);
  std::vector<float> a{1, 3, 4};
  Launch({3}).tensor(a, {1}).tensor(a, {1}).run(b.spec());
  EXPECT_EQ(a, (std::vector<float>{0.125F, 0.375F, 0.5F}));
}

TEST(ScalarKernel, ColumnsReduceInIndexOrder) {
  SpecBuilder b(Form::Column, 3);
  const auto x = b.load(DType::F32), scale = b.load(DType::F32, InnerStride::Unit, Level::Result);
  const auto scaled = b.apply("mul", DType::F32, {x, scale});
  const auto sum = b.reduce(Reduction::Sum, DType::F32, DType::F32, scaled);
  b.store(b.apply("mul", DType::F32, {sum, scale}), DType::F32);
  const std::size_t outer = 2, reduced = 37, columns = 70;  // more than one block of columns
  std::vector<float> a = random_floats(outer * reduced * columns), s = random_floats(columns, 5),
                     out(outer * columns);
  Launch({2, 37, 70})
      .tensor(a, {37 * 70, 70, 1})
      .tensor(s, {0, 0, 1})
      .tensor(out, {70, 0, 1})
      .run(b.spec());
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t c = 0; c < columns; ++c) {
      double total = 0;
      for (std::size_t r = 0; r < reduced; ++r) total += a[(o * reduced + r) * columns + c] * s[c];
      EXPECT_EQ(out[o * columns + c], static_cast<float>(total) * s[c]);
    }
  }
}

/// One row, one reduction.
template <class T, class Out>
Out reduce(Reduction r, DType compute, DType result, std::vector<T> row) {
  SpecBuilder b(Form::Row, 1);
  b.store(b.reduce(r, compute, result, b.load(compute)), result, InnerStride::Zero);
  std::vector<Out> out(1);
  Launch({static_cast<std::int64_t>(row.size())}).tensor(row, {1}).tensor(out, {0}).run(b.spec());
  return out[0];
}
float reduce_f32(Reduction r, std::vector<float> row) {
  return reduce<float, float>(r, DType::F32, DType::F32, std::move(row));
}
std::int64_t arg(Reduction r, std::vector<float> row) {
  return reduce<float, std::int64_t>(r, DType::F32, DType::I64, std::move(row));
}
bool truth(Reduction r, std::vector<float> row) {
  return reduce<float, std::uint8_t>(r, DType::F32, DType::Bool, std::move(row)) != 0;
}

TEST(Reductions, NanWins) {
  EXPECT_TRUE(std::isnan(reduce_f32(Reduction::Max, {1, NAN, 3})));
  EXPECT_TRUE(std::isnan(reduce_f32(Reduction::Min, {1, NAN, 3})));
  EXPECT_EQ(arg(Reduction::ArgMax, {1, NAN, 3, NAN}), 1);
  EXPECT_EQ(arg(Reduction::ArgMin, {1, NAN, -3, NAN}), 1);
}

TEST(Reductions, FirstExtremeCountsAcrossLanes) {
  std::vector<float> row(40, 0);
  row[19] = row[18] = row[35] = 9;
  EXPECT_EQ(arg(Reduction::ArgMax, row), 18);
  row[33] = row[17] = -9;
  EXPECT_EQ(arg(Reduction::ArgMin, row), 17);
  EXPECT_EQ(arg(Reduction::ArgMax, std::vector<float>(33, -INFINITY)), 0);
}

TEST(Reductions, ExtremesOfInfinitiesAndZeros) {
  EXPECT_EQ(reduce_f32(Reduction::Max, {-INFINITY, -INFINITY}), -INFINITY);
  EXPECT_FALSE(std::signbit(reduce_f32(Reduction::Max, {-0.0F, 0.0F})));
  EXPECT_TRUE(std::signbit(reduce_f32(Reduction::Min, {0.0F, -0.0F})));
}

TEST(Reductions, IntegersAccumulateInInt64) {
  const std::vector<std::int8_t> row(1000, 100);
  EXPECT_EQ((reduce<std::int8_t, std::int64_t>(Reduction::Sum, DType::I8, DType::I64, row)),
            100000);
  EXPECT_EQ((reduce<std::int8_t, std::int8_t>(Reduction::Max, DType::I8, DType::I8, {-5, -3, -9})),
            -3);
  EXPECT_EQ((reduce<std::int64_t, std::int64_t>(Reduction::Prod, DType::I64, DType::I64,
                                                {1LL << 40, 1LL << 24, 3})),
            0);
  EXPECT_EQ(
      (reduce<std::uint8_t, std::int64_t>(Reduction::Sum, DType::Bool, DType::I64, {1, 0, 1, 1})),
      3);
}

TEST(Reductions, AnyAndAllCountNanAsTrue) {
  EXPECT_TRUE(truth(Reduction::Any, {0, NAN, 0}));
  EXPECT_FALSE(truth(Reduction::Any, {0, -0.0F}));
  EXPECT_TRUE(truth(Reduction::All, {1, NAN, -2}));
  EXPECT_FALSE(truth(Reduction::All, {1, 0, 2}));
}

TEST(ScalarKernel, DivisionByZeroIsAFault) {
  SpecBuilder b(Form::Pointwise);
  const auto x = b.load(DType::I32), y = b.load(DType::I32);
  b.store(b.apply("floor_divide", DType::I32, {x, y}), DType::I32);
  std::vector<std::int32_t> a{7, -7}, c{2, 0}, out(2);
  EXPECT_THROW(Launch({2}).tensor(a, {1}).tensor(c, {1}).tensor(out, {1}).run(b.spec()), Error);
}

TEST(Kernel, WorkDividesByForm) {
  const auto items = [](Form form, std::uint8_t rank, std::vector<std::int64_t> extents) {
    return null_kernel({.form = form, .rank = rank})->work_items(extents.data());
  };
  EXPECT_EQ(items(Form::Pointwise, 2, {3, 4096}), 3);
  EXPECT_EQ(items(Form::Pointwise, 2, {3, 4097}), 6);
  EXPECT_EQ(items(Form::Row, 3, {3, 5, 100000}), 15);
  EXPECT_EQ(items(Form::Column, 3, {3, 1000, 65}), 6);
}

TEST(Kernel, NullKernelTouchesNothing) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.load(DType::F32), DType::F32);
  const std::unique_ptr<Kernel> kernel = null_kernel(b.spec());
  EXPECT_NO_THROW(kernel->run({}, 0, 1000, nullptr));
  EXPECT_EQ(kernel->code_bytes(), Bytes{0});
}

}  // namespace
}  // namespace spyre::kernels
