// spyre/lazy/iteration_space_test.cpp — the algebra against linear indices.
#include "spyre/lazy/iteration_space.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace spyre::lazy {
namespace {

std::vector<std::int64_t> addresses(const Dims& extents, const Dims& strides) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < extents.numel(); ++i) {
    std::int64_t rest = i, address = 0;
    for (std::size_t d = extents.size(); d-- > 0;) {
      address += rest % extents[d] * strides[d];
      rest /= extents[d];
    }
    list.push_back(address);
  }
  return list;
}

TEST(IterationSpace, CoalescesWhereEveryAccessAllows) {
  Dims extents{2, 1, 3, 4};
  std::array<Dims, 2> strides{Dims{12, 99, 4, 1}, Dims{0, 7, 4, 1}};
  coalesce(extents, strides);
  EXPECT_EQ(extents, (Dims{2, 12}));
  EXPECT_EQ(strides[0], (Dims{12, 1}));
  EXPECT_EQ(strides[1], (Dims{0, 1}));
}

TEST(IterationSpace, CoalescesToAPoint) {
  Dims extents{1, 1};
  Dims strides{5, 1};
  coalesce(extents, {&strides, 1});
  EXPECT_TRUE(extents.empty());
  EXPECT_TRUE(strides.empty());
}

TEST(IterationSpace, RefinesReshapes) {
  EXPECT_EQ(common_refinement({6, 4}, {24}), (Dims{6, 4}));
  EXPECT_EQ(common_refinement({6, 4}, {2, 12}), (Dims{2, 3, 4}));
  EXPECT_EQ(common_refinement({8, 3}, {2, 2, 2, 3}), (Dims{2, 2, 2, 3}));
  EXPECT_EQ(common_refinement({}, {}), Dims{});
}

TEST(IterationSpace, HasNoRefinementWhereCutsCross) {
  EXPECT_FALSE(common_refinement({6, 4}, {4, 6}));
  EXPECT_FALSE(common_refinement({6}, {12}));
  EXPECT_FALSE(common_refinement({}, {2}));
  EXPECT_FALSE(common_refinement({2, 3}, {3, 2}));
}

TEST(IterationSpace, HasNoRefinementAboveTheHighestRank) {
  const Dims twos = Dims::filled(kMaxRank, 2);
  EXPECT_TRUE(common_refinement(twos, {4096}));
  Dims a = Dims::filled(7, 4), b{2};
  for (int i = 0; i < 6; ++i) b.push_back(4);
  b.push_back(2);
  EXPECT_FALSE(common_refinement(a, b));  // 14 twos
}

TEST(IterationSpace, SplitSpaceCutsOnlyBetweenDimensions) {
  const auto cut = split_space({2, 3, 4}, 6);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->head, (Dims{2, 3}));
  EXPECT_EQ(cut->tail, Dims{4});
  EXPECT_FALSE(split_space({2, 3, 4}, 3));
  EXPECT_EQ(split_space({2, 3}, 1)->tail, (Dims{2, 3}));
  EXPECT_EQ(split_space({2, 3}, 6)->head, (Dims{2, 3}));
}

TEST(IterationSpace, KeepsAddressesThroughCoalescingAndSplitting) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Dims extents, strides;
    const auto rank = random() % 5;
    for (std::size_t d = 0; d < rank; ++d) {
      extents.push_back(1 + static_cast<std::int64_t>(random() % 4));
      strides.push_back(static_cast<std::int64_t>(random() % 7) - 1);
    }
    if (random() % 2) strides = contiguous_strides(extents);
    Dims shorter = extents, short_strides = strides;
    coalesce(shorter, {&short_strides, 1});
    ASSERT_EQ(addresses(extents, strides), addresses(shorter, short_strides));

    Dims without_ones;
    for (const std::int64_t e : extents)
      if (e != 1) without_ones.push_back(e);
    const auto refined = common_refinement(shorter, without_ones);
    ASSERT_TRUE(refined);
    ASSERT_EQ(addresses(extents, strides),
              addresses(*refined, split_strides(shorter, short_strides, *refined)));
  }
}

}  // namespace
}  // namespace spyre::lazy
