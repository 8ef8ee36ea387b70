// spyre/device_sim/tiling_test.cpp — coordinates and offsets of single elements, in words of the layout's definition.
#include "spyre/device_sim/tiling.h"

#include <gtest/gtest.h>

#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

using enum DataFormat;

HostShape dense(const Dims& sizes) { return {sizes, contiguous_strides(sizes)}; }

std::string text(const std::vector<Coordinate>& coordinates) {
  std::string all;
  for (const Coordinate& coordinate : coordinates) all += str(all.empty() ? "" : ", ", coordinate);
  return all;
}

TEST(Tiling, AStrideIsOneTile) {
  const Tiling tiling = Tiling::strided({{3, 1, 5}, {7, 9, 1}});
  EXPECT_EQ(tiling.tiles(0).size(), 1U);
  EXPECT_TRUE(tiling.tiles(1).empty());
  EXPECT_EQ(tiling.offset_of(Dims{2, 0, 4}.span()), 18);
}

TEST(Tiling, AnElementIsInItsStickAndLane) {
  const HostShape shape = dense({512, 240});
  const auto tiling = Tiling::of(TensorLayout::derived(shape.sizes, Sen169Fp16), shape);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_EQ(tiling->tiles(1).size(), 2U);
  EXPECT_EQ(tiling->offset_of(Dims{10, 100}.span()), (1 * 512 + 10) * 64 + 36);
}

TEST(Tiling, ASingleStickIsNotTakenForARow) {
  const HostShape shape = dense({10, 64});  // rows and sticks both step by 64
  const auto tiling = Tiling::of(TensorLayout::derived(shape.sizes, Sen169Fp16), shape);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_EQ(tiling->tiles(0).size(), 1U);
  EXPECT_EQ(tiling->tiles(1).size(), 1U);
}

TEST(Tiling, NothingForALayoutOfAnotherTensor) {
  const auto layout = TensorLayout::derived({512, 240}, Sen169Fp16);
  EXPECT_FALSE(Tiling::of(layout, dense({512, 300})).has_value());
  EXPECT_FALSE(Tiling::of(layout, dense({600, 240})).has_value());
}

/// Every element of the window is where the tensor's tiling has it, or the window is refused.
bool window_is_right(const TensorLayout& layout, const HostShape& shape, const Window& window) {
  const Tiling whole = Tiling::of(layout, shape).value();
  const auto part = whole.window(shape, window);
  if (!part) return false;
  Dims at = Dims::filled(window.sizes.size(), 0);
  for (std::int64_t n = window.sizes.numel(); n-- > 0;) {
    std::int64_t host = window.offset;
    for (std::size_t d = 0; d < at.size(); ++d) host += at[d] * window.strides[d];
    Dims index;  // of a row-major tensor
    for (const std::int64_t stride : shape.strides) {
      index.push_back(host / stride);
      host %= stride;
    }
    EXPECT_EQ(part->offset + part->tiling.offset_of(at.span()), whole.offset_of(index.span()))
        << layout << at;
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == window.sizes[d];) at[d] = 0;
  }
  return true;
}

TEST(Windows, FollowTheTilesOrAreRefused) {
  const HostShape shape = dense({6, 256});
  const auto rows = TensorLayout::derived(shape.sizes, Sen169Fp16);
  const auto columns = TensorLayout::derived(shape.sizes, shape.strides, Sen169Fp16, {1, 0});
  const Window whole{{6, 256}, {256, 1}, 0}, transposed{{256, 6}, {1, 256}, 0},
      some_rows{{2, 256}, {512, 1}, 256}, inside_a_stick{{6, 30}, {256, 1}, 70},
      two_sticks{{6, 128}, {256, 1}, 64}, every_other{{6, 128}, {256, 2}, 0},
      sticks_apart{{6, 2}, {256, 128}, 3}, one_row{{4, 256}, {0, 1}, 512},
      across{{6, 64}, {256, 1}, 32}, flat{{1536}, {1}, 0}, odd{{6, 80}, {256, 3}, 0};
  for (const Window& window : {whole, transposed, some_rows, inside_a_stick, two_sticks,
                               every_other, sticks_apart, one_row}) {
    EXPECT_TRUE(window_is_right(rows, shape, window));
    EXPECT_TRUE(window_is_right(columns, shape, window));
  }
  for (const Window& window : {across, odd}) EXPECT_FALSE(window_is_right(rows, shape, window));
  EXPECT_FALSE(window_is_right(rows, shape, flat));
}

TEST(DeviceCoordinates, AreDivisionsAndRemainders) {
  const auto of = [](const TensorLayout& layout, const Dims& sizes) {
    return text(device_coordinates(layout, dense(sizes)).value());
  };
  EXPECT_EQ(of(TensorLayout::derived({512, 240}, Sen169Fp16), {512, 240}),
            "i1 / 64, i0, i1 mod 64");
  EXPECT_EQ(of(TensorLayout::derived({5, 60}, Sen169Fp16), {5, 60}), "0, i0, i1");
  EXPECT_EQ(of(TensorLayout::derived({}, Sen169Fp16), {}), "0, 0");
  EXPECT_EQ(of(TensorLayout({3, 2, 14, 64}, {120, 64, 360, 1}, Sen169Fp16), {4800}),
            "(i0 mod 360) / 120, (i0 mod 120) / 64, i0 / 360, i0 mod 64");
}

TEST(DeviceCoordinates, LeadToTheElement) {
  const HostShape shape = dense({3, 70, 130});
  for (const Dims& order : {Dims{0, 1, 2}, Dims{2, 0, 1}, Dims{1, 2, 0}}) {
    const auto layout = TensorLayout::derived(shape.sizes, shape.strides, IeeeFp32, order);
    const auto coordinates = device_coordinates(layout, shape).value();
    const Tiling tiling = Tiling::of(layout, shape).value();
    for (const Dims& index : {Dims{0, 0, 0}, Dims{2, 69, 129}, Dims{1, 33, 31}, Dims{2, 32, 32}}) {
      std::int64_t offset = 0;
      for (std::size_t j = 0; j < coordinates.size(); ++j)
        offset += coordinates[j].at(index.span()) * layout.device_strides()[j];
      EXPECT_EQ(offset, tiling.offset_of(index.span())) << layout << index;
    }
  }
}

}  // namespace
}  // namespace spyre::device_sim
