// spyre/kernels/product_call_test.cpp — work items and panels of rows give the same product.
#include "spyre/kernels/product_call.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace spyre::kernels {
namespace {

constexpr std::size_t kScratch = 2 << 20, kAligned = 64;

/// Batches of left [m, k], right [k, n] and out [m, n], dense float32.
struct Operands {
  std::int64_t batches, m, k, n;
  std::vector<float> left, right, out, packed;

  Operands(std::int64_t batch_count, std::int64_t rows_each, std::int64_t steps,
           std::int64_t columns)
      : batches(batch_count), m(rows_each), k(steps), n(columns) {
    for (std::int64_t i = 0; i < batches * m * k; ++i)
      left.push_back(static_cast<float>(i % 13) - 6);
    for (std::int64_t i = 0; i < batches * k * n; ++i)
      right.push_back(static_cast<float>(i % 7) - 3);
    out.assign(static_cast<std::size_t>(batches * m * n), -1);
  }
  Product product() const { return {DType::F32, DType::F32, k, n}; }
  RowSpace rows() const { return {batches, m}; }
  static DeviceView view(std::vector<float>& data, std::int64_t b, std::int64_t r, std::int64_t c) {
    return {data.data(), sizeof(float), 0, {b, r, c}, {r * c, c, 1}};
  }
  std::vector<DeviceView> plain() {
    return {view(left, batches, m, k), view(right, batches, k, n), view(out, batches, m, n)};
  }
  float expected(std::size_t at) const {
    const auto index = static_cast<std::int64_t>(at);
    const std::int64_t b = index / (m * n), row = index / n % m, column = index % n;
    float sum = 0;
    for (std::int64_t i = 0; i < k; ++i)
      sum = std::fma(left[static_cast<std::size_t>((b * m + row) * k + i)],
                     right[static_cast<std::size_t>((b * k + i) * n + column)], sum);
    return sum;
  }
  void check() const {
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected(i)) << i;
  }
};

struct Scratch {
  std::vector<std::byte> bytes = std::vector<std::byte>(kScratch + kAligned);
  std::span<std::byte> span() {
    const auto gap = kAligned - reinterpret_cast<std::uintptr_t>(bytes.data()) % kAligned;
    return {bytes.data() + gap, kScratch};
  }
};

TEST(ProductCall, ItemsCoverTheResult) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  for (const auto& [batches, m, k, n] :
       {std::array<std::int64_t, 4>{1, 5, 70, 33}, {3, 40, 16, 700}}) {
    Operands o(batches, m, k, n);
    Scratch scratch;
    const ProductCall call(o.product(), o.rows(), ProductCall::Right::Plain);
    for (std::int64_t item = call.work_items(); item-- > 0;)
      call.run(o.plain(), item, item + 1, scratch.span());
    o.check();
    EXPECT_EQ(call.cost().macs, static_cast<std::uint64_t>(batches * m * k * n));
  }
}

TEST(ProductCall, PackedRightOperandsAreShared) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  Operands o(2, 200, 30, 90);
  Scratch scratch;
  const auto bytes = static_cast<std::int64_t>(o.product().packed_bytes().count);
  std::vector<std::byte> memory(static_cast<std::size_t>(2 * bytes) + kAligned);
  std::byte* const aligned =
      memory.data() + kAligned - reinterpret_cast<std::uintptr_t>(memory.data()) % kAligned;
  std::vector<DeviceView> views = o.plain();
  const DeviceView packed{aligned, 1, 0, {2, bytes}, {bytes, 1}};
  const PackCall pack(o.product(), 2);
  pack.run(std::vector{views[1], packed}, 0, pack.work_items(), {});
  EXPECT_FALSE(pack.cost().on_card);
  views[1] = packed;
  const ProductCall call(o.product(), o.rows(), ProductCall::Right::Packed);
  call.run(views, 0, call.work_items(), scratch.span());
  o.check();
}

TEST(ProductCall, FewColumnsAreDividedByRows) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  Operands o(1, 260, 30, 16);  // one tile of columns
  Scratch scratch;
  const ProductCall call(o.product(), o.rows(), ProductCall::Right::InPlace);
  EXPECT_EQ(call.work_items(), 260 / 24);
  for (std::int64_t item = call.work_items(); item-- > 0;)
    call.run(o.plain(), item, item + 1, scratch.span());
  o.check();
}

TEST(PackCall, ItemsAreWorthAThread) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  EXPECT_EQ(PackCall({DType::F32, DType::F32, 16, 700}, 3).work_items(), 3);
  const Product large{DType::F32, DType::F32, 1024, 1024};
  EXPECT_EQ(PackCall(large, 1).work_items(), 32);
  EXPECT_EQ(PackCall({DType::F32, DType::F32, 8192, 64}, 1).work_items(),
            64 / large.tile_columns());
}

class ProductCallRows : public testing::TestWithParam<std::tuple<ProductCall::Right, int>> {};

TEST_P(ProductCallRows, ComeInAnyPanels) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  const auto [right, steps] = GetParam();
  Operands o(3, 50, steps, 64);
  Scratch scratch;
  const ProductCall call(o.product(), o.rows(), right);
  ASSERT_EQ(call.row_space(), o.rows());
  const std::span<std::byte> prepared = scratch.span().first(call.batch_bytes().count),
                             rest = scratch.span().subspan(prepared.size());
  ASSERT_LE(call.row_scratch().count, rest.size());
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    call.prepare_batch(o.plain(), batch, prepared);
    for (std::int64_t row = 0; row < 50; row += 17)
      call.run_rows(o.plain(), {batch, row, std::min<std::int64_t>(row + 17, 50)}, prepared,
                    rest.first(call.row_scratch().count));
  }
  o.check();
}

// The longer one does not stay packed.
INSTANTIATE_TEST_SUITE_P(Rights, ProductCallRows,
                         testing::Combine(testing::Values(ProductCall::Right::Plain,
                                                          ProductCall::Right::InPlace),
                                          testing::Values(20, 2100)));

/// Rows and columns that are, or are not, whole blocks; more rows than columns and the other way round.
class CausalProduct
    : public testing::TestWithParam<std::tuple<std::array<int, 2>, ProductCall::Right>> {
 protected:
  /// In panels of `rows`.
  static void run(Operands& o, const ProductCall& call, std::int64_t rows) {
    Scratch scratch;
    const std::span<std::byte> prepared = scratch.span().first(call.batch_bytes().count),
                               rest = scratch.span().subspan(prepared.size());
    for (std::int64_t batch = 0; batch < o.batches; ++batch) {
      call.prepare_batch(o.plain(), batch, prepared);
      for (std::int64_t row = 0; row < o.m; row += rows)
        call.run_rows(o.plain(), {batch, row, std::min(row + rows, o.m)}, prepared, rest);
    }
  }
};

TEST_P(CausalProduct, HidesWhatIsBeyondTheRow) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  const auto [sizes, right] = GetParam();
  Operands o(2, sizes[0], 12, sizes[1]);
  for (const std::int64_t rows : {7, 96}) {
    const Causal causal{Causal::Matrix::Result, rows, rows == 7 ? 0 : Causal{}.hidden};
    const ProductCall call(o.product(), o.rows(), right, causal);
    o.out.assign(o.out.size(), -1);
    run(o, call, rows);
    for (std::size_t i = 0; i < o.out.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const bool hidden = at % o.n > at / o.n % o.m + causal.offset;
      ASSERT_EQ(o.out[i], hidden ? causal.hidden : o.expected(i)) << i;
    }
  }
}

TEST_P(CausalProduct, SumsUpToTheRow) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  const auto [sizes, right] = GetParam();
  Operands o(2, sizes[0], sizes[1], 64);
  for (std::int64_t i = 0; i < o.batches * o.m; ++i)
    for (std::int64_t c = i % o.m + 1; c < o.k; ++c)
      o.left[static_cast<std::size_t>(i * o.k + c)] = 0;
  const ProductCall call(o.product(), o.rows(), right, {Causal::Matrix::Left});
  for (const std::int64_t rows : {7, 96}) {
    o.out.assign(o.out.size(), -1);
    run(o, call, rows);
    o.check();
  }
}

TEST_P(CausalProduct, LeavesTheSameOutInEveryPanel) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  const auto [sizes, right] = GetParam();
  constexpr std::int64_t kInfinite =
      9;  // the row of the right operand: where rows do not see it yet
  Operands o(2, sizes[0], sizes[1], 64);
  o.left.assign(o.left.size(), 0);
  for (std::int64_t c = 0; c < o.n; ++c)
    o.right[static_cast<std::size_t>((o.k - kInfinite) * o.n + c)] =
        std::numeric_limits<float>::infinity();
  const ProductCall call(o.product(), o.rows(), right, {Causal::Matrix::Left});
  run(o, call, 7);
  const std::vector<float> out = o.out;
  EXPECT_EQ(out.front() == 0, o.k - kInfinite >= 32);
  run(o, call, 96);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(std::isnan(out[i]), std::isnan(o.out[i]));
}

INSTANTIATE_TEST_SUITE_P(Sizes, CausalProduct,
                         testing::Combine(testing::Values(std::array{64, 64}, std::array{100, 80},
                                                          std::array{33, 160}, std::array{16, 16}),
                                          testing::Values(ProductCall::Right::Plain,
                                                          ProductCall::Right::InPlace)));

TEST(ProductCall, ACausalOneCostsWhatItComputes) {
  const Product product{DType::F32, DType::F32, 8, 64};
  const auto macs = [&](Causal causal, const Product& p) {
    return ProductCall(p, {3, 64}, ProductCall::Right::Plain, causal).cost().macs;
  };
  EXPECT_EQ(macs({Causal::Matrix::Result}, product), 3U * 8 * (32 * 32 + 32 * 64));
  EXPECT_EQ(macs({Causal::Matrix::Left}, {DType::F32, DType::F32, 64, 8}),
            3U * 8 * (32 * 32 + 32 * 64));
}

TEST(ProductCall, ItemsOfABatchShareItsPackedMatrix) {
  if (!Product::supports(DType::F32)) GTEST_SKIP() << "no AVX2";
  Operands o(9, 200, 12, 64);
  Scratch scratch;
  const ProductCall call(o.product(), o.rows(), ProductCall::Right::Plain);
  ASSERT_EQ(call.work_items(), 9 * 3);
  call.run(o.plain(), 0, 8, scratch.span());
  call.run(o.plain(), 8, call.work_items(), scratch.span());
  o.check();
}

}  // namespace
}  // namespace spyre::kernels
