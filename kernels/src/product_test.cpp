// spyre/kernels/product_test.cpp — every layout against the chain that defines a product.
#include "spyre/kernels/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cpu_features.h"
#include "spyre/base/float16.h"

namespace spyre::kernels {
namespace {

enum class Layout : std::uint8_t { Rows, Columns, Spread };

/// A matrix with elements in [-1, 1), stored with gaps.
class Matrix {
 public:
  Matrix(DType type, std::int64_t rows, std::int64_t columns, Layout layout, unsigned seed)
      : type_(type), rows_(rows), columns_(columns) {
    row_ = layout == Layout::Columns ? 1 : layout == Layout::Rows ? columns + 3 : columns * 2 + 5;
    column_ = layout == Layout::Rows ? 1 : layout == Layout::Columns ? rows + 3 : 2;
    bytes_.resize(static_cast<std::size_t>((rows * row_ + columns * column_ + 1) * size_of(type)));
    std::minstd_rand numbers(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        set(r, c, static_cast<float>(numbers() % 4096) / 2048.0F - 1.0F);
  }
  MatrixView view() { return {bytes_.data(), row_, column_}; }
  MatrixView view_at(std::int64_t row) { return {place(row, 0), row_, column_}; }
  float get(std::int64_t r, std::int64_t c) {
    if (type_ == DType::F32) {
      float value;
      std::memcpy(&value, place(r, c), sizeof value);
      return value;
    }
    std::uint16_t bits;
    std::memcpy(&bits, place(r, c), sizeof bits);
    return type_ == DType::BF16 ? bfloat16_value(bits) : float16_value(bits);
  }
  float rounded(float value) const {
    if (type_ == DType::F32) return value;
    return type_ == DType::BF16 ? bfloat16_value(bfloat16_bits(value))
                                : float16_value(float16_bits(value));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::byte* place(std::int64_t r, std::int64_t c) {
    return bytes_.data() + (r * row_ + c * column_) * size_of(type_);
  }
  void set(std::int64_t r, std::int64_t c, float value) {
    if (type_ == DType::F32) {
      std::memcpy(place(r, c), &value, sizeof value);
      return;
    }
    const std::uint16_t bits = type_ == DType::BF16 ? bfloat16_bits(value) : float16_bits(value);
    std::memcpy(place(r, c), &bits, sizeof bits);
  }

  DType type_;
  std::int64_t rows_, columns_, row_, column_;
  std::vector<std::byte> bytes_;
};

struct AlignedBytes {
  explicit AlignedBytes(Bytes wanted)
      : data(static_cast<std::byte*>(std::aligned_alloc(64, wanted.rounded_up(64_B).count + 64))),
        size(wanted.count) {}
  ~AlignedBytes() { std::free(data); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::byte* data;
  std::size_t size;
};

void multiply(const Product& p, Matrix& left, Matrix& right, Matrix& out, std::int64_t rows,
              Bytes scratch_bytes) {
  const AlignedBytes packed(p.packed_bytes()), scratch(scratch_bytes);
  p.pack(right.view(), 0, p.tiles(), packed.data);
  p.multiply(left.view(), rows, p.packed_tiles(packed.data), 0, p.tiles(), out.view(),
             {scratch.data, scratch.size});
}

class ProductTest : public testing::TestWithParam<std::tuple<DType, Layout, Layout, Layout, Isa>> {
};

TEST_P(ProductTest, IsTheAscendingChain) {
  const auto [type, left_layout, right_layout, out_layout, isa] = GetParam();
  if (!cpu_runs(isa)) GTEST_SKIP() << "not on this CPU";
  const bool two_at_a_time = type == DType::BF16 && isa == Isa::Avx512 && cpu_multiplies_bfloat16();
  for (const auto [rows, k, n] : {std::array<std::int64_t, 3>{1, 1, 1},
                                  {13, 17, 33},
                                  {30, 64, 96},
                                  {5, 40, 300},
                                  {25, 9, 31},
                                  {14, 2101, 170}}) {
    const Product p{type, type, k, n, isa};
    Matrix left(type, rows, k, left_layout, 1), right(type, k, n, right_layout, 2),
        out(type, rows, n, out_layout, 3);
    multiply(p, left, right, out, rows, p.left_bytes(rows));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        float chain = 0;
        for (std::int64_t i = 0; i < k; ++i)
          chain = std::fma(left.get(r, i), right.get(i, c), chain);
        const float expected = out.rounded(chain);
        if (two_at_a_time)
          EXPECT_NEAR(out.get(r, c), expected, 0.01 * (1 + std::abs(expected))) << r << ' ' << c;
        else EXPECT_EQ(out.get(r, c), expected) << type << ' ' << r << ' ' << c << " of " << k;
      }
  }
}

TEST_P(ProductTest, RowsAndColumnsDivideAtWill) {
  const auto [type, left_layout, right_layout, out_layout, isa] = GetParam();
  if (!cpu_runs(isa)) GTEST_SKIP() << "not on this CPU";
  for (const std::int64_t k :
       {50, 2101}) {  // the second is added in parts where it meets several tiles
    const std::int64_t rows = 29, n = 130;
    const Product p{type, type, k, n, isa};
    Matrix left(type, rows, k, left_layout, 1), right(type, k, n, right_layout, 2),
        whole(type, rows, n, out_layout, 3), pieces(type, rows, n, out_layout, 3);
    multiply(p, left, right, whole, rows, p.left_bytes(rows));
    const AlignedBytes tile(p.tile_bytes()), scratch(p.left_bytes(1));
    for (std::int64_t t = 0; t < p.tiles(); ++t) {
      p.pack(right.view(), t, t + 1, tile.data);
      for (std::int64_t row = 0; row < rows; row += 7)
        p.multiply(left.view_at(row), std::min<std::int64_t>(7, rows - row),
                   p.packed_tiles(tile.data), t, t + 1, pieces.view_at(row),
                   {scratch.data, scratch.size});
    }
    EXPECT_EQ(whole.bytes(), pieces.bytes()) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ProductTest,
    testing::Combine(testing::Values(DType::F32, DType::BF16, DType::F16),
                     testing::Values(Layout::Rows, Layout::Columns, Layout::Spread),
                     testing::Values(Layout::Rows, Layout::Columns, Layout::Spread),
                     testing::Values(Layout::Rows, Layout::Spread, Layout::Columns),
                     testing::Values(Isa::Avx2, Isa::Avx512)));

TEST(Product, ReadsItsRightOperandInPlace) {
  for (const Isa isa : {Isa::Avx2, Isa::Avx512})
    for (const std::int64_t k : {50, 2101})
      for (const Layout layout : {Layout::Rows, Layout::Columns}) {
        if (!cpu_runs(isa)) continue;
        const std::int64_t rows = 29, n = 96;
        const Product p{DType::F32, DType::F32, k, n, isa};
        Matrix left(DType::F32, rows, k, Layout::Rows, 1), right(DType::F32, k, n, Layout::Rows, 2),
            out(DType::F32, rows, n, layout, 3), same(DType::F32, rows, n, layout, 3);
        ASSERT_TRUE(p.reads_in_place(right.view().row_stride, right.view().column_stride));
        EXPECT_FALSE(p.reads_in_place(right.view().row_stride, 2));
        EXPECT_FALSE(p.reads_in_place(1000, 1)) << "rows far apart";
        multiply(p, left, right, out, rows, p.left_bytes(rows));
        const AlignedBytes scratch(p.left_bytes(rows));
        for (std::int64_t t = 0; t < p.tiles(); t += 2)
          p.multiply(left.view(), rows, p.tiles_in_place(right.view(), t), t,
                     std::min(t + 2, p.tiles()), same.view(), {scratch.data, scratch.size});
        EXPECT_EQ(out.bytes(), same.bytes()) << k;
      }
  EXPECT_FALSE((Product{DType::F32, DType::F32, 8, 100}.reads_in_place(100, 1)))
      << "part of a tile";
  EXPECT_FALSE((Product{DType::BF16, DType::BF16, 8, 64}.reads_in_place(64, 1))) << "pairs";
}

TEST(Product, KeepsRowsApartThatContendForCacheLines) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  for (const std::int64_t k : {1021, 3069})  // the second in parts
    for (const Layout layout : {Layout::Rows, Layout::Columns}) {
      const std::int64_t rows = 20, n = 256;
      const Product p{DType::F32, DType::F32, k, n};
      Matrix left(DType::F32, rows, k, Layout::Rows, 1),
          right(DType::F32, k, n, Layout::Columns, 2), out(DType::F32, rows, n, layout, 3),
          same(DType::F32, rows, n, layout, 3);
      ASSERT_EQ(left.view().row_stride * 4 % 4096, 0);
      multiply(p, left, right, out, rows, p.left_bytes(rows));
      multiply(p, left, right, same, rows, p.left_bytes(1));
      EXPECT_EQ(out.bytes(), same.bytes());
      float chain = 0;
      for (std::int64_t i = 0; i < k; ++i)
        chain = std::fma(left.get(rows - 1, i), right.get(i, n - 1), chain);
      EXPECT_EQ(out.get(rows - 1, n - 1), chain);
    }
}

TEST(Product, LeavesOtherTypesToTheLibrary) {
  EXPECT_FALSE(Product::supports(DType::F64));
  EXPECT_FALSE(Product::supports(DType::I32));
}

}  // namespace
}  // namespace spyre::kernels
