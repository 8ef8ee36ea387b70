// spyre/device_sim/device_memory_test.cpp — regions, statistics, trimming, a full card.
#include "device_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "spyre/base/error.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

DeviceSpec spec_with_regions(int regions) {
  DeviceSpec spec = small_spec();
  spec.regions = regions;
  spec.min_region = 2_MiB;
  return spec;
}

TEST(DeviceMemory, SmallCardsHaveOneRegion) {
  DeviceMemory memory(small_spec());
  const Allocation whole = memory.allocate(64_MiB);
  EXPECT_EQ(whole.pieces.size(), 1U);
  memory.free(whole);
}

TEST(DeviceMemory, RegionsFillInOrder) {
  DeviceMemory memory(spec_with_regions(4));
  for (std::uint16_t region = 0; region < 4; ++region) {
    EXPECT_EQ(memory.allocate(12_MiB).pieces.front().region, RegionId{region});
  }
  EXPECT_EQ(memory.allocate(4_MiB).pieces.front().region, RegionId{0});
}

TEST(DeviceMemory, FullCardSaysWhatIsLeft) {
  DeviceMemory memory(spec_with_regions(2));
  memory.allocate(20_MiB);
  try {
    memory.allocate(40_MiB);
    FAIL() << "must throw";
  } catch (const OutOfDeviceMemory& error) {
    EXPECT_STREQ(error.what(),
                 "device memory: cannot allocate 40.00 MiB; free 44.00 MiB of 64.00 MiB, largest "
                 "free block 32.00 MiB, "
                 "2 regions; try a larger SPYRE_DEVICE_MEMORY or release tensors");
  }
  EXPECT_THROW(memory.allocate({~0ULL}), OutOfDeviceMemory);
  EXPECT_NO_THROW(memory.allocate(32_MiB));
}

TEST(DeviceMemory, CountsWhatIsInUse) {
  DeviceMemory memory(small_spec());
  const Allocation a = memory.allocate(100_B), b = memory.allocate(3_MiB);
  EXPECT_EQ(memory.stats().allocated, 128_B + 3_MiB);
  memory.free(b);
  const MemoryStats stats = memory.stats();
  EXPECT_EQ(stats.allocated, 128_B);
  EXPECT_EQ(stats.peak_allocated, 128_B + 3_MiB);
  EXPECT_EQ(stats.live, 1U);
  EXPECT_EQ(stats.allocations, 2U);
  EXPECT_EQ(stats.frees, 1U);
  memory.reset_peak();
  EXPECT_EQ(memory.stats().peak_allocated, 128_B);
  memory.free(a);
}

TEST(DeviceMemory, TrimGivesPagesBackAndKeepsLiveBytes) {
  DeviceMemory memory(small_spec());
  const Allocation kept = memory.allocate(4_MiB), freed = memory.allocate(16_MiB);
  std::memset(memory.address(kept.pieces[0]), 7, 4 << 20);
  std::memset(memory.address(freed.pieces[0]), 9, 16 << 20);
  memory.free(freed);
  const Bytes reserved = memory.stats().reserved;
  const Bytes given_back = memory.trim();
  EXPECT_GE(given_back, 14_MiB);
  EXPECT_EQ(memory.stats().reserved, reserved - given_back);
  EXPECT_EQ(*memory.address(kept.pieces[0]), std::byte{7});
  const Allocation again = memory.allocate(16_MiB);
  EXPECT_EQ(memory.stats().reserved, reserved);
  memory.free(again);
  memory.free(kept);
}

TEST(DeviceMemory, RunsCoverAllRegions) {
  DeviceMemory memory(small_spec());
  const Allocation a = memory.allocate(100_B), b = memory.allocate(300_B),
                   c = memory.allocate(3_MiB);
  memory.free(b);
  Bytes allocated, all;
  std::size_t kept = 0;
  Piece last;
  for (const MemoryRun& run : memory.runs()) {
    const bool next = run.piece.region == last.region;
    EXPECT_EQ(run.piece.offset, next ? last.offset + last.length : Bytes{});
    last = run.piece;
    all += run.piece.length;
    if (run.state == MemoryRun::State::Allocated) allocated += run.piece.length;
    if (run.state == MemoryRun::State::Kept) ++kept;
  }
  EXPECT_EQ(all, memory.stats().capacity);
  EXPECT_EQ(allocated, memory.stats().allocated);
  EXPECT_EQ(kept, 1U);
  memory.free(a);
  memory.free(c);
}

TEST(DeviceMemory, PiecesAreAlignedAndDisjointInMemory) {
  DeviceMemory memory(small_spec());
  const Piece a = memory.allocate(1_B).pieces[0], b = memory.allocate(1_B).pieces[0];
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.address(a)) % 128, 0U);
  EXPECT_GE(std::abs(memory.address(a) - memory.address(b)), 128);
}

}  // namespace
}  // namespace spyre::device_sim
