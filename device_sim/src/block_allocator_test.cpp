// spyre/device_sim/block_allocator_test.cpp — random histories against a model; exhaustion.
#include "spyre/device_sim/block_allocator.h"

#include <gtest/gtest.h>

#include <random>

#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

/// Remembers live runs, and fails if two overlap.
class Model {
 public:
  void add(Bytes offset, Bytes length) {
    ASSERT_EQ(offset.count % 128, 0U);
    const auto next = live_.lower_bound(offset.count);
    if (next != live_.end()) { ASSERT_LE(offset.count + length.count, next->first); }
    if (next != live_.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, offset.count);
    }
    live_.emplace(offset.count, length.count);
  }
  std::pair<Bytes, Bytes> remove(std::size_t index) {
    const auto run = std::next(live_.begin(), static_cast<std::ptrdiff_t>(index));
    const std::pair<Bytes, Bytes> removed{{run->first}, {run->second}};
    live_.erase(run);
    return removed;
  }
  std::size_t size() const { return live_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> live_;
};

Bytes random_length(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0: return {random() % 512};              // small, recurring
    case 1: return {(1 + random() % 8) * 16384};  // large, recurring
    case 2: return {random() % 200'000};
    default: return {random() % 4'000'000};
  }
}

class RandomHistory : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomHistory, RunsNeverOverlapAndAllComesBack) {
  std::mt19937_64 random(GetParam());
  BlockAllocator blocks(32_MiB);
  Model model;
  for (int step = 0; step < 4000; ++step) {
    if (model.size() != 0 && random() % 100 < 48) {
      const auto [offset, length] = model.remove(random() % model.size());
      blocks.free(offset, length);
    } else if (const Bytes length = random_length(random);
               const auto offset = blocks.allocate(length)) {
      ASSERT_LE(offset->count + blocks.rounded(length).count, blocks.range().count);
      model.add(*offset, blocks.rounded(length));
    } else {
      ASSERT_LT(blocks.largest_free(), blocks.rounded(length)) << "failed with room left";
    }
  }
  while (model.size() != 0) {
    const auto [offset, length] = model.remove(0);
    blocks.free(offset, length);
  }
  EXPECT_EQ(blocks.allocated(), 0_B);
  blocks.coalesce();
  EXPECT_EQ(blocks.largest_free(), 32_MiB);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistory, testing::Range<std::uint64_t>(1, 13));

TEST(BlockAllocator, EqualSizesAreRecycled) {
  BlockAllocator blocks(64_MiB);
  for (const Bytes length : {100_B, 64_KiB, 3_MiB}) {
    const auto first = blocks.allocate(length);
    blocks.free(*first, length);
    EXPECT_EQ(blocks.allocate(length), first);
  }
}

TEST(BlockAllocator, RecycledRunsMergeBeforeFailure) {
  BlockAllocator blocks(1_MiB);
  std::vector<Bytes> offsets;
  while (const auto offset = blocks.allocate(1_KiB)) offsets.push_back(*offset);
  EXPECT_EQ(offsets.size(), 1024U);
  EXPECT_EQ(blocks.largest_free(), 0_B);
  for (const Bytes offset : offsets) blocks.free(offset, 1_KiB);
  EXPECT_EQ(blocks.allocate(1_MiB), 0_B);
}

TEST(BlockAllocator, BestFitSparesTheLargeRun) {
  BlockAllocator blocks(64_MiB);
  const auto hole = blocks.allocate(1_MiB);
  const auto wall = blocks.allocate(128_KiB);
  blocks.free(*hole, 1_MiB);
  blocks.coalesce();
  const auto fit = blocks.allocate(1000_KiB);
  EXPECT_EQ(fit, hole);
  EXPECT_NE(fit, wall);
}

TEST(BlockAllocator, ZeroTakesOneBlockAndAbsurdSizesFail) {
  BlockAllocator blocks(1_KiB);
  EXPECT_TRUE(blocks.allocate(0_B));
  EXPECT_EQ(blocks.allocated(), 128_B);
  EXPECT_FALSE(blocks.allocate({~0ULL}));
  EXPECT_FALSE(blocks.allocate(1_KiB));
}

TEST(BlockAllocator, DoubleFreeIsCaught) {
  BlockAllocator blocks(1_MiB);
  const auto kept = blocks.allocate(200_KiB);
  const auto twice = blocks.allocate(200_KiB);
  ASSERT_TRUE(kept);
  blocks.free(*twice, 200_KiB);
  EXPECT_THROW(
      {
        blocks.free(*twice, 200_KiB);
        blocks.coalesce();
      },
      InternalError);
}

TEST(BlockAllocator, HugeAddressRangesCostNothing) {
  BlockAllocator blocks({1ULL << 44});
  EXPECT_TRUE(blocks.allocate({1ULL << 43}));
}

TEST(BlockAllocator, BlocksTellAllocatedRunsApart) {
  BlockAllocator allocator(1_KiB);
  const Bytes a = *allocator.allocate(128_B);
  const Bytes b = *allocator.allocate(256_B);
  allocator.free(a, 128_B);
  EXPECT_EQ(allocator.blocks(), (std::vector<Block>{{0_B, 640_B, BlockState::Free},
                                                    {b, 256_B, BlockState::Allocated},
                                                    {a, 128_B, BlockState::Kept}}));
}

TEST(BlockAllocator, ARunIsFreedOnce) {
  BlockAllocator allocator(1_MiB);
  const Bytes first = *allocator.allocate(128_B);
  allocator.allocate(512_B);
  allocator.free(first, 128_B);
  EXPECT_THROW(allocator.free(first, 128_B), InternalError);
  EXPECT_THROW(allocator.free(first + 256_B, 128_B), InternalError) << "not where a run starts";
}

}  // namespace
}  // namespace spyre::device_sim
