// spyre/lazy/reduction_lowering_test.cpp — any reduction, decomposed, against a plain double loop.
#include "spyre/lazy/reduction_lowering.h"

#include <bit>
#include <cmath>
#include <numeric>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using kernels::Reduction;
using Doubles = std::vector<double>;

/// Notes what would be recorded.
class NotingSink final : public PrimitiveSink {
 public:
  explicit NotingSink(Device& device) : device_(device) {}
  void pointwise(const Pointwise&) override { text += "copy "; }
  void reduce(TraceNode::Kind kind, const Reduce& op) override {
    text += kind == TraceNode::Kind::Row ? "row" : "column";
    text += str(Dims(op.sizes), '/', op.reduced, ' ');
  }
  BufferRef temporary(Bytes size) override { return device_.create_buffer(size); }
  std::string text;

 private:
  Device& device_;
};

class LoweringTest : public DeviceFixture {
 protected:
  /// Positions of the elements that reduce into each output, in order of the outputs.
  static std::vector<std::vector<std::int64_t>> buckets(const Dims& sizes, std::uint32_t mask) {
    Dims kept = sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if ((mask >> i & 1U) != 0) kept[i] = 1;
    const Dims out_strides = contiguous_strides(kept), in_strides = contiguous_strides(sizes);
    std::vector<std::vector<std::int64_t>> result(static_cast<std::size_t>(kept.numel()));
    for (std::int64_t n = 0; n < sizes.numel(); ++n) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        if ((mask >> i & 1U) == 0) at += n / in_strides[i] % sizes[i] * out_strides[i];
      result[static_cast<std::size_t>(at)].push_back(n);
    }
    return result;
  }

  static Dims kept_sizes(const Dims& sizes, std::uint32_t mask) {
    Dims kept;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if ((mask >> i & 1U) == 0) kept.push_back(sizes[i]);
    return kept;
  }

  static std::vector<float> values_for(const Dims& sizes) {
    std::vector<float> values(static_cast<std::size_t>(sizes.numel()));
    std::uint32_t seed = 1;
    for (float& v : values)
      v = static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 8) * 0x1p-24F - 0.25F;
    return values;
  }

  std::string lowered(const Dims& sizes, const Dims& strides, std::uint32_t mask,
                      Reduction r = Reduction::Sum) {
    const BufferRef from = device.create_buffer(1_MiB), to = device.create_buffer(1_MiB);
    Dims out = contiguous_strides(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if ((mask >> i & 1U) != 0) out[i] = 0;
    NotingSink sink(device);
    lower_reduction({r,
                     DType::F32,
                     DType::F32,
                     sizes.span(),
                     mask,
                     {from.get(), DType::F32, 0, strides.span()},
                     {to.get(), DType::F32, 0, out.span()},
                     0},
                    sink);
    return sink.text;
  }
  std::string lowered(const Dims& sizes, std::uint32_t mask, Reduction r = Reduction::Sum) {
    return lowered(sizes, contiguous_strides(sizes), mask, r);
  }
};

TEST_F(LoweringTest, PrimitiveOnesPassThrough) {
  EXPECT_EQ(lowered({4, 5}, 0b10), "row[4, 5]/2 ");
  EXPECT_EQ(lowered({4, 5}, 0b11), "row[4, 5]/3 ");
  EXPECT_EQ(lowered({4, 5}, 0b01), "column[4, 5]/1 ");
  EXPECT_EQ(lowered({3, 4, 5}, 0b010), "column[3, 4, 5]/2 ");
  EXPECT_EQ(lowered({131072}, 1), "row[131072]/1 ");
}

TEST_F(LoweringTest, UnitExtentsDoNotMatter) {
  EXPECT_EQ(lowered({4, 1}, 0b01), "row[4, 1]/3 ");         // the kept unit dimension joins the row
  EXPECT_EQ(lowered({1, 4, 5}, 0b101), "row[1, 4, 5]/4 ");  // the reduced one joins the kept
  EXPECT_EQ(lowered({3, 1}, 0b10), "row[3, 1]/2 ");
  EXPECT_EQ(lowered({1, 3}, 0b01), "column[1, 3]/1 ");
  EXPECT_EQ(lowered({}, 0), "row[1]/1 ");
  EXPECT_EQ(lowered({2, 1, 3}, 0b101), "row[2, 1, 3]/7 ");
}

TEST_F(LoweringTest, SeveralRunsGoFromTheInside) {
  EXPECT_EQ(lowered({2, 3, 4}, 0b101), "row[2, 3, 4]/4 column[2, 3]/1 ");
  EXPECT_EQ(lowered({2, 3, 4, 5}, 0b0101), "column[2, 3, 4, 5]/4 column[2, 3, 5]/1 ");
}

TEST_F(LoweringTest, LongRowsGoInChunks) {
  EXPECT_EQ(lowered({131073}, 1), "row[2, 65536]/2 row[1, 1]/2 row[3]/1 ");
  EXPECT_EQ(lowered({3, 262144}, 0b10), "row[3, 4, 65536]/4 row[3, 4]/2 ");
  EXPECT_EQ(lowered({131073}, 1, Reduction::ArgMax), "row[131073]/1 ");
}

TEST_F(LoweringTest, LongColumnsGoInChunksWhereTheyAreFew) {
  EXPECT_EQ(lowered({4096, 4}, 0b01), "column[4096, 4]/1 ");
  EXPECT_EQ(lowered({8192, 4}, 0b01), "column[4, 2048, 4]/2 column[4, 4]/1 ");
  EXPECT_EQ(lowered({5000, 4}, 0b01), "column[4, 1250, 4]/2 column[4, 4]/1 ");
  EXPECT_EQ(lowered({4099, 4}, 0b01), "column[2, 2048, 4]/2 column[1, 3, 4]/2 column[3, 4]/1 ");
  EXPECT_EQ(lowered({2, 8192, 4}, 0b010), "column[2, 4, 2048, 4]/4 column[2, 4, 4]/2 ");
  EXPECT_EQ(lowered({8192, 2000}, 0b01), "column[8192, 2000]/1 ");
  EXPECT_EQ(lowered({8192, 4}, 0b01, Reduction::ArgMax), "column[8192, 4]/1 ");
}

TEST_F(LoweringTest, StridesOnlyDecideWhetherToCopy) {
  EXPECT_EQ(lowered({4, 5}, {1, 4}, 0b11), "copy row[4, 5]/3 ");
  EXPECT_EQ(lowered({4, 5}, {1, 4}, 0b10), "row[4, 5]/2 ");
  EXPECT_EQ(lowered({4, 5}, {0, 0}, 0b11), "row[4, 5]/3 ");
}

TEST_F(LoweringTest, SumsMatchADoubleLoop) {
  const struct {
    Dims sizes;
    std::uint32_t mask;
  } cases[]{{{7}, 1},
            {{3, 5}, 1},
            {{3, 5}, 2},
            {{3, 5}, 3},
            {{2, 3, 4}, 5},
            {{2, 3, 4}, 2},
            {{2, 3, 4, 5}, 0b1010},
            {{2, 3, 4, 5}, 0b0101},
            {{2, 1, 4}, 0b111},
            {{1, 6}, 1},
            {{140000}, 1},
            {{2, 140000}, 2},
            {{3, 70000}, 3},
            {{8192, 3}, 1},
            {{4099, 5}, 1},
            {{2, 5000, 3}, 2},
            {{2, 4099, 3}, 3}};
  for (const auto& c : cases) {
    const std::vector<float> values = values_for(c.sizes);
    const DeviceTensor in = tensor<float>(c.sizes, values),
                       out = empty(kept_sizes(c.sizes, c.mask));
    reduce(Reduction::Sum, in, c.mask, out);
    const std::vector<float> got = read<float>(out);
    const auto expected = buckets(c.sizes, c.mask);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      double sum = 0;
      for (const std::int64_t n : expected[i]) sum += values[static_cast<std::size_t>(n)];
      EXPECT_NEAR(got[i], sum, 1e-6 * std::abs(sum)) << c.sizes << " over " << c.mask;
    }
  }
}

TEST_F(LoweringTest, LayoutDoesNotChangeABit) {
  const Dims sizes{3, 4, 5};
  const std::vector<float> values = values_for(sizes);
  std::vector<float> turned(values.size());
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 5; ++k) turned[(k * 4 + j) * 3 + i] = values[(i * 4 + j) * 5 + k];
  const DeviceTensor rows = tensor<float>(sizes, values),
                     columns = tensor<float>({5, 4, 3}, turned).transposed();
  for (std::uint32_t mask = 1; mask < 8; ++mask) {
    const DeviceTensor a = empty(kept_sizes(sizes, mask)), b = empty(kept_sizes(sizes, mask));
    reduce(Reduction::Sum, rows, mask, a);
    reduce(Reduction::Sum, columns, mask, b);
    EXPECT_EQ(read<float>(a), read<float>(b)) << mask;
  }
}

TEST_F(LoweringTest, ExtremesAndIndices) {
  const Dims sizes{4, 6};
  std::vector<float> values = values_for(sizes);
  values[3] = values[5] = 9;
  values[13] = std::nanf("");
  const DeviceTensor in = tensor<float>(sizes, values), most = empty({4}), least = empty({6});
  const DeviceTensor where = empty({4}, DType::I64);
  reduce(Reduction::Max, in, 2, most);
  reduce(Reduction::Min, in, 1, least);
  reduce(Reduction::ArgMax, in, 2, where);
  EXPECT_EQ(read<float>(most)[0], 9);
  EXPECT_TRUE(std::isnan(read<float>(most)[2]));
  EXPECT_EQ(read<float>(least)[0], std::min({values[0], values[6], values[12], values[18]}));
  EXPECT_EQ(read<std::int64_t>(where)[0], 3);  // the first of equals
  EXPECT_EQ(read<std::int64_t>(where)[2], 1);  // NaN wins
}

TEST_F(LoweringTest, LongMaximumKeepsItsType) {
  std::vector<float> values = values_for({200000});
  values[150000] = 7;
  const DeviceTensor in = tensor<float>({200000}, values), most = empty({}),
                     where = empty({}, DType::I64);
  reduce(Reduction::Max, in, 1, most);
  reduce(Reduction::ArgMax, in, 1, where);
  EXPECT_EQ(read<float>(most)[0], 7);
  EXPECT_EQ(read<std::int64_t>(where)[0], 150000);
}

TEST_F(LoweringTest, NothingReducedIsTheIdentity) {
  const DeviceTensor in = empty({3, 0}), sum = empty({3}), product = empty({3});
  reduce(Reduction::Sum, in, 2, sum);
  reduce(Reduction::Prod, in, 2, product);
  EXPECT_EQ(read<float>(sum), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(read<float>(product), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace spyre::lazy
