// spyre/device_sim/joint_nest_test.cpp — three arrangements at once visit every index, each at its own place.
#include "spyre/device_sim/joint_nest.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace spyre::device_sim {
namespace {

using enum DataFormat;

TEST(JointNest, WalksThreeArrangementsTogether) {
  const HostShape shape{{5, 70}, {70, 1}};
  const std::array arrangements{
      Tiling::of(TensorLayout::derived(shape.sizes, IeeeFp32), shape).value(),
      Tiling::of(TensorLayout::derived(shape.sizes, shape.strides, Sen169Fp16, {1, 0}), shape)
          .value(),
      Tiling::strided({{5, 70}, {1, 5}})};
  const auto nests = joint_nests(arrangements);
  ASSERT_TRUE(nests.has_value());
  std::set<std::array<std::int64_t, 3>> visited, expected;
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 70; ++j) {
      const Dims index{i, j};
      expected.insert({arrangements[0].offset_of(index.span()),
                       arrangements[1].offset_of(index.span()), i + 5 * j});
    }
  for (const JointNest& nest : *nests) {
    Dims at = Dims::filled(nest.sizes.size(), 0);
    for (std::int64_t n = nest.sizes.numel(); n-- > 0;) {
      std::array<std::int64_t, 3> places{};
      for (std::size_t a = 0; a < 3; ++a) {
        places[a] = nest.offsets[a];
        for (std::size_t d = 0; d < at.size(); ++d) places[a] += at[d] * nest.strides[a][d];
      }
      EXPECT_TRUE(visited.insert(places).second);
      for (std::size_t d = at.size(); d-- > 0 && ++at[d] == nest.sizes[d];) at[d] = 0;
    }
  }
  EXPECT_EQ(visited, expected);
}

TEST(JointNest, OneArrangementIsOneNestPerRemainder) {
  const HostShape shape{{5, 70}, {70, 1}};
  const std::array rows{Tiling::of(TensorLayout::derived(shape.sizes, IeeeFp32), shape).value()};
  EXPECT_EQ(joint_nests(rows)->size(), 2U);
  const std::array plain{Tiling::strided(shape)};
  EXPECT_EQ(joint_nests(plain)->size(), 1U);
  EXPECT_EQ(joint_nests(plain)->front().sizes, shape.sizes);
}

}  // namespace
}  // namespace spyre::device_sim
