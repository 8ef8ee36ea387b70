// spyre/base/dims_test.cpp — extents, strides and their limits.
#include "spyre/base/dims.h"

#include <gtest/gtest.h>

namespace spyre {
namespace {

TEST(Dims, NumelOfRankZeroIsOne) {
  EXPECT_EQ(Dims{}.numel(), 1);
  EXPECT_EQ((Dims{2, 0, 3}).numel(), 0);
  EXPECT_EQ((Dims{2, 4, 3}).numel(), 24);
}

TEST(Dims, ContiguousStridesTreatEmptyExtentsAsOne) {
  EXPECT_EQ(contiguous_strides({2, 4, 3}), (Dims{12, 3, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 3}), (Dims{3, 3, 1}));
}

TEST(Dims, RankIsBounded) {
  Dims d = Dims::filled(kMaxRank, 1);
  EXPECT_THROW(d.push_back(1), Unsupported);
  d.pop_back();
  EXPECT_EQ(d.size(), kMaxRank - 1);
}

TEST(Dims, ComparesOnlyTheRank) {
  Dims a{1, 2, 3};
  a.pop_back();
  EXPECT_EQ(a, (Dims{1, 2}));
  EXPECT_EQ(str(a), "[1, 2]");
}

}  // namespace
}  // namespace spyre
