// spyre/lazy/reordering_test.cpp — reordered loops visit the same addresses, in the leader's order.
#include "reordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace spyre::lazy {
namespace {

std::vector<std::int64_t> addresses(const Dims& extents, const Dims& strides) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < extents.numel(); ++i) {
    std::int64_t rest = i, address = 0;
    for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d])
      address += rest % extents[d] * strides[d];
    list.push_back(address);
  }
  return list;
}

TEST(Reordering, SplitsHeadsOffAProjection) {
  // Written as [608, 384]; read as [32, 12, 19, 32].
  const auto r = follow({608, 384}, {384, 1}, {32, 12, 19, 32}, {7296, 32, 384, 1});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->extents(), (Dims{32, 19, 12, 32}));
  EXPECT_EQ(r->strides({7296, 32, 384, 1}), (Dims{7296, 384, 32, 1}));
  EXPECT_TRUE(r->keeps_inner);
}

TEST(Reordering, KnowsATransposition) {
  const auto r = follow({8, 6}, {6, 1}, {6, 8}, {1, 6});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->extents(), (Dims{8, 6}));
  EXPECT_FALSE(r->keeps_inner);
}

TEST(Reordering, RefusesRepeatsAndCrossingCuts) {
  EXPECT_FALSE(follow({8, 6}, {6, 1}, {8, 6}, {0, 1}));
  EXPECT_FALSE(follow({4, 6}, {6, 1}, {6, 4}, {4, 1}));
}

TEST(Reordering, FollowsAnyLeader) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    // One dense buffer of four dimensions, walked in two random orders of them.
    const Dims sizes{2, 3, 2, 4}, dense{24, 8, 4, 1};
    std::vector<std::size_t> a{0, 1, 2, 3}, b = a;
    std::ranges::shuffle(a, random);
    std::ranges::shuffle(b, random);
    Dims leader, leader_strides, extents, strides;
    for (std::size_t i = 0; i < 4; ++i) {
      leader.push_back(sizes[a[i]]), leader_strides.push_back(dense[a[i]]);
      extents.push_back(sizes[b[i]]), strides.push_back(dense[b[i]]);
    }
    const auto r = follow(leader, leader_strides, extents, strides);
    ASSERT_TRUE(r);
    ASSERT_EQ(addresses(r->extents(), r->strides(strides)), addresses(leader, leader_strides));
  }
}

}  // namespace
}  // namespace spyre::lazy
