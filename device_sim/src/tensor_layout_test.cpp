// spyre/device_sim/tensor_layout_test.cpp — the worked examples of upstream's layouts, and what a layout refuses.
#include "spyre/device_sim/tensor_layout.h"

#include <gtest/gtest.h>

#include <optional>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

using enum DataFormat;

struct Example {
  Dims size;
  std::optional<Dims> order, stride;
  DataFormat format = Sen169Fp16;
  Dims device_size, stride_map;
  std::uint64_t bytes;

  TensorLayout layout() const {
    if (!order && !stride) return TensorLayout::derived(size, format);
    return TensorLayout::derived(size, stride.value_or(contiguous_strides(size)), format,
                                 order.value_or(identity_order(size.size())));
  }
};

class Derivation : public testing::TestWithParam<Example> {};

TEST_P(Derivation, GivesUpstreamsLayout) {
  const Example& example = GetParam();
  const TensorLayout layout = example.layout();
  EXPECT_EQ(layout.device_size(), example.device_size);
  EXPECT_EQ(layout.stride_map(), example.stride_map);
  EXPECT_EQ(layout.bytes().count, example.bytes);
  EXPECT_EQ(layout, TensorLayout(example.device_size, example.stride_map, example.format));
}

const Dims kS3{512, 8, 256};

INSTANTIATE_TEST_SUITE_P(
    WorkedExamples, Derivation,
    testing::Values(
        Example{{}, {}, {}, Sen169Fp16, {1, 64}, {-1, -1}, 128},
        Example{{120}, {}, {}, Sen169Fp16, {2, 64}, {64, 1}, 256},
        Example{{512, 240}, {}, {}, Sen169Fp16, {4, 512, 64}, {64, 240, 1}, 262144},
        Example{{512, 256}, {}, {}, Sen169Fp16, {4, 512, 64}, {64, 256, 1}, 262144},
        Example{{512, 8, 240}, {}, {}, Sen169Fp16, {8, 4, 512, 64}, {240, 64, 1920, 1}, 2097152},
        Example{kS3, {}, {}, Sen169Fp16, {8, 4, 512, 64}, {256, 64, 2048, 1}, 2097152},
        Example{{512, 256}, {{1, 0}}, {}, Sen169Fp16, {8, 256, 64}, {16384, 1, 256}, 262144},
        Example{
            kS3, {{0, 2, 1}}, {}, Sen169Fp16, {256, 1, 512, 64}, {1, 16384, 2048, 256}, 16777216},
        Example{kS3, {{1, 0, 2}}, {}, Sen169Fp16, {512, 4, 8, 64}, {2048, 64, 256, 1}, 2097152},
        Example{kS3, {{1, 2, 0}}, {}, Sen169Fp16, {256, 8, 8, 64}, {1, 131072, 256, 2048}, 2097152},
        Example{
            kS3, {{2, 0, 1}}, {}, Sen169Fp16, {512, 1, 256, 64}, {2048, 16384, 1, 256}, 16777216},
        Example{kS3, {{2, 1, 0}}, {}, Sen169Fp16, {8, 8, 256, 64}, {256, 131072, 1, 2048}, 2097152},
        Example{{512, 256},
                {{0, 1, -1}},
                {},
                Sen169Fp16,
                {256, 1, 512, 64},
                {1, -1, 256, -1},
                16777216},
        Example{{5, 100, 150}, {}, {}, Sen169Fp16, {100, 3, 5, 64}, {150, 64, 15000, 1}, 192000},
        Example{{5, 100, 150},
                {{1, 0, 2}},
                {},
                Sen169Fp16,
                {5, 3, 100, 64},
                {15000, 64, 150, 1},
                192000},
        Example{{1, 64}, {}, {}, Sen169Fp16, {1, 1, 64}, {64, -1, 1}, 128},
        Example{{64, 1}, {}, {}, Sen169Fp16, {1, 64, 64}, {-1, 1, -1}, 8192},
        Example{{2, 3, 4, 5}, {}, {}, Sen169Fp16, {3, 4, 1, 2, 64}, {20, 5, 64, 60, 1}, 3072},
        Example{{2, 2, 2, 2, 2, 100},
                {},
                {},
                Sen169Fp16,
                {2, 2, 2, 2, 2, 2, 64},
                {800, 400, 200, 100, 64, 1600, 1},
                8192},
        Example{{2, 1, 128, 4096},
                {},
                {},
                IeeeFp32,
                {1, 128, 128, 2, 32},
                {-1, 4096, 32, 524288, 1},
                4194304},
        Example{{1}, {}, {}, IeeeInt32, {1, 32}, {-1, -1}, 128},
        Example{{1000}, {}, {}, SenInt8, {8, 128}, {128, 1}, 1024},
        Example{{4096, 1024}, {{1, 0}}, {}, Sen169Fp16, {64, 1024, 64}, {65536, 1, 1024}, 8388608},
        Example{{2, 3}, {}, {{1, 2}}, Sen169Fp16, {1, 2, 64}, {128, 1, 2}, 256},
        Example{{0, 64}, {}, {}, Sen169Fp16, {1, 0, 64}, {64, 64, 1}, 0},
        Example{{3, 0}, {}, {}, Sen169Fp16, {0, 3, 64}, {64, 0, 1}, 0},
        Example{{1024, 256}, {}, {}, Sen169Fp16, {4, 1024, 64}, {64, 256, 1}, 524288}));

TEST(TensorLayout, PadsSmallTrailingDimensions) {
  const auto layout = TensorLayout::derived({131072, 64, 2, 2}, Sen169Fp16);
  EXPECT_EQ(layout.bytes(), 2_GiB);  // of 64 MiB
  EXPECT_EQ(layout.padding(131072 * 64 * 4), 2_GiB - 64_MiB);
}

TEST(TensorLayout, PrintsAsUpstream) {
  const auto layout = TensorLayout::derived({512, 256}, Sen169Fp16);
  EXPECT_EQ(str(layout),
            "SpyreTensorLayout(device_size=[4, 512, 64], stride_map =[64, 256, 1], "
            "device_dtype=DataFormats.SEN169_FP16)");
  EXPECT_NE(str(layout.with_arrangement(ElementArrangement::Exx2)).find("EXX2)"),
            std::string::npos);
}

TEST(TensorLayout, IsAValue) {
  const auto a = TensorLayout::derived({512, 256}, Sen169Fp16);
  const TensorLayout b({4, 512, 64}, {64, 256, 1}, Sen169Fp16);
  EXPECT_EQ(a, b);
  EXPECT_EQ(std::hash<TensorLayout>{}(a), std::hash<TensorLayout>{}(b));
  const TensorLayout others[] = {TensorLayout({4, 512, 64}, {64, 240, 1}, Sen169Fp16),
                                 TensorLayout({4, 511, 64}, {64, 256, 1}, Sen169Fp16),
                                 TensorLayout({4, 512, 64}, {64, 256, 1}, IeeeFp16),
                                 a.with_arrangement(ElementArrangement::Qfp8Ch)};
  for (const TensorLayout& other : others) {
    EXPECT_NE(a, other);
    EXPECT_NE(std::hash<TensorLayout>{}(a), std::hash<TensorLayout>{}(other)) << other;
  }
}

TEST(TensorLayout, RanksBeyondSixHaveNoDerivedLayout) {
  const Dims seven = Dims::filled(7, 2);
  EXPECT_THROW(TensorLayout::derived(seven, Sen169Fp16), Unsupported);
  Dims sparse = identity_order(6);
  sparse.push_back(kSparse);
  const Dims six = Dims::filled(6, 2);
  EXPECT_EQ(TensorLayout::derived(six, contiguous_strides(six), Sen169Fp16, sparse).device_size(),
            Dims({2, 2, 2, 2, 2, 1, 2, 64}));
}

TEST(TensorLayout, RefusesWhatCannotBe) {
  const Dims size{4, 8}, stride = contiguous_strides(size);
  for (const Dims& order :
       {Dims{0}, Dims{0, 0}, Dims{0, 2}, Dims{-1, 0}, Dims{0, 1, 2}, Dims{0, -1}})
    EXPECT_THROW(TensorLayout::derived(size, stride, Sen169Fp16, order), InvalidArgument) << order;
  EXPECT_THROW(TensorLayout::derived(size, {1}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout::derived({4, -1}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout::derived(size, Sen153Fp9), Unsupported);
  EXPECT_THROW(TensorLayout({4, 64}, {1}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout({4, 32}, {32, 1}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout({-4, 64}, {64, 1}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout({4, 64}, {64, -2}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout({}, {}, Sen169Fp16), InvalidArgument);
  EXPECT_THROW(TensorLayout({1LL << 40, 1LL << 40, 64}, {64, 64, 1}, Sen169Fp16), InvalidArgument);
}

}  // namespace
}  // namespace spyre::device_sim
