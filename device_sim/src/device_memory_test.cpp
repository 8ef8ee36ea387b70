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
  spec.regions = regions + 1;  // and one for programs
  spec.min_region = 2_MiB;
  return spec;
}

TEST(DeviceMemory, SmallCardsHaveOneRegion) {
  DeviceMemory memory(small_spec());
  const Allocation whole = memory.allocate(64_MiB);
  EXPECT_EQ(whole.pieces().size(), 1U);
  memory.free(whole);
}

TEST(DeviceMemory, RegionsFillInOrder) {
  DeviceMemory memory(spec_with_regions(4));
  for (std::uint16_t region = 0; region < 4; ++region) {
    EXPECT_EQ(memory.allocate(12_MiB).place.region, RegionId{region});
  }
  EXPECT_EQ(memory.allocate(4_MiB).place.region, RegionId{0});
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
                 "2 regions (12.00 MiB free of 32.00 MiB, 32.00 MiB free of 32.00 MiB); try a "
                 "larger SPYRE_DEVICE_MEMORY or release tensors");
  }
  EXPECT_EQ(memory.stats().failures, 1U);
  EXPECT_THROW(memory.allocate(Bytes{~0ULL}), OutOfDeviceMemory);
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
  std::memset(memory.address(kept.place), 7, 4 << 20);
  std::memset(memory.address(freed.place), 9, 16 << 20);
  memory.free(freed);
  const Bytes reserved = memory.stats().reserved;
  const Bytes given_back = memory.trim();
  EXPECT_GE(given_back, 14_MiB);
  EXPECT_EQ(memory.stats().reserved, reserved - given_back);
  EXPECT_EQ(*memory.address(kept.place), std::byte{7});
  const Allocation again = memory.allocate(16_MiB);
  EXPECT_EQ(memory.stats().reserved, reserved);
  memory.free(again);
  memory.free(kept);
}

TEST(DeviceMemory, PiecesAreAlignedAndDisjointInMemory) {
  DeviceMemory memory(small_spec());
  const Piece a = memory.allocate(1_B).place, b = memory.allocate(1_B).place;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.address(a)) % 128, 0U);
  EXPECT_GE(std::abs(memory.address(a) - memory.address(b)), 128);
}

TEST(DeviceMemory, NothingIsHandedOutForNothing) {
  DeviceMemory memory(small_spec());
  const Allocation nothing = memory.allocate(0_B);
  EXPECT_TRUE(nothing.empty());
  memory.free(nothing);
  EXPECT_EQ(memory.stats().allocations, 0U);
  EXPECT_EQ(memory.allocate(1_B).place.length, 128_B);
  EXPECT_EQ(memory.allocate(128_B).place.length, 128_B);
  EXPECT_EQ(memory.allocate(129_B).place.length, 256_B);
}

TEST(DeviceMemory, PoliciesChooseTheRegion) {
  const auto regions_of_four = [](const char* policy) {
    DeviceSpec spec = spec_with_regions(2);
    spec.region_policy = policy;
    DeviceMemory memory(spec);
    std::vector<int> regions;
    for (const Bytes size : {4_MiB, 2_MiB, 1_MiB, 4_MiB})
      regions.push_back(memory.allocate(size).place.region.value);
    return regions;
  };
  EXPECT_EQ(regions_of_four("first_fit"), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(regions_of_four("most_free"), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(regions_of_four("least_free"), (std::vector<int>{0, 0, 0, 0}));
}

TEST(DeviceMemory, ProgramsHaveTheLastRegionAndTheirOwnBudget) {
  DeviceSpec spec = small_spec();
  spec.program_capacity = 2_MiB;
  DeviceMemory memory(spec);
  const AllocationRequest request{.size = 1_MiB, .type = MemoryType::Program};
  const Allocation program = memory.allocate(request);
  EXPECT_EQ(program.place.region, RegionId{7});
  EXPECT_EQ(memory.logical_address(program.place).region_handle, 0x1C'0000'0000U);
  EXPECT_EQ(memory.stats().allocated, 0_B);
  EXPECT_EQ(memory.stats().program_allocated, 1_MiB);
  memory.allocate(request);
  EXPECT_THROW(memory.allocate(request), OutOfDeviceMemory);
  EXPECT_NO_THROW(memory.allocate(32_MiB)) << "tensors have theirs";
  memory.free(program);
  EXPECT_NO_THROW(memory.allocate(request));
}

TEST(DeviceMemory, HandlesAreAddressesOrTableIndexes) {
  DeviceSpec spec = spec_with_regions(7);
  EXPECT_EQ(DeviceMemory(spec).logical_address({{2}, 128_B, 128_B}),
            (LogicalAddress{0x8'0000'0000, 128_B}));
  spec.function = "vf";
  DeviceMemory table(spec);
  EXPECT_EQ(table.logical_address({{1}, 128_B, 128_B}), (LogicalAddress{1, 128_B}));
  const MemorySnapshot regions = table.snapshot();
  ASSERT_EQ(regions.size(), 3U) << "a tighter budget";
  EXPECT_EQ(regions.back().type, MemoryType::Program);
  EXPECT_EQ(regions.back().handle, 2U);
}

DeviceSpec spec_with_domains() {
  DeviceSpec spec = spec_with_regions(4);
  spec.memory_domains = 4;  // 16 MiB each
  return spec;
}

AllocationRequest directed(Bytes size, MemoryPolicy policy, std::vector<std::uint16_t> domains) {
  return {.size = size, .directive = {policy, std::move(domains)}};
}

TEST(DeviceMemory, BindIsHardAndPreferredIsSoft) {
  DeviceMemory memory(spec_with_domains());
  const auto region = [&](MemoryPolicy policy) {
    return memory.allocate(directed(10_MiB, policy, {2})).place.region.value;
  };
  EXPECT_EQ(region(MemoryPolicy::Bind), 2);
  EXPECT_THROW(region(MemoryPolicy::Bind), OutOfDeviceMemory);
  EXPECT_EQ(region(MemoryPolicy::Preferred), 0);
  EXPECT_THROW(memory.allocate(directed(1_MiB, MemoryPolicy::Bind, {4})), InvalidArgument);
}

TEST(DeviceMemory, InterleavedPiecesLieInEachDomain) {
  DeviceMemory memory(spec_with_domains());
  const Allocation all = memory.allocate(directed(1000_B, MemoryPolicy::Interleave, {}));
  ASSERT_EQ(all.chunks.size(), 4U);
  for (std::uint16_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all.chunks[i].region, RegionId{i});
    EXPECT_EQ(memory.domain_of(all.chunks[i]), i);
    EXPECT_EQ(all.chunks[i].length, 256_B) << "rounded up to blocks";
    EXPECT_EQ(memory.logical_address(all.chunks[i]).region_handle,
              i * spec_with_domains().region_span.count);
  }
  const Allocation two = memory.allocate(directed(200_B, MemoryPolicy::Interleave, {3, 1}));
  ASSERT_EQ(two.chunks.size(), 2U);
  EXPECT_EQ(two.chunks[0].region, RegionId{3});
  const Allocation one = memory.allocate(directed(100_B, MemoryPolicy::Interleave, {}));
  EXPECT_EQ(one.pieces().size(), 1U) << "no empty pieces";
  EXPECT_EQ(one.place.region, RegionId{0});
}

TEST(DeviceMemory, AnInterleavedAllocationIsOneRangeOfItsOwn) {
  DeviceMemory memory(spec_with_domains());
  const AllocationRequest request = directed(40_MiB, MemoryPolicy::Interleave, {});
  const Allocation all = memory.allocate(request);
  std::memset(memory.address(all.place), 3, 40 << 20);
  const Allocation other = memory.allocate(6_MiB);  // in the region of the first chunk
  std::memset(memory.address(other.place), 4, 6 << 20);
  const std::byte* bytes = memory.address(all.place);
  EXPECT_TRUE(
      std::all_of(bytes, bytes + (40 << 20), [](std::byte b) { return b == std::byte{3}; }));
  EXPECT_EQ(memory.stats().allocated, 46_MiB);
  EXPECT_EQ(memory.stats().reserved, 46_MiB) << "of the host, a byte for each of the card's";
  EXPECT_EQ(memory.stats().pieces, 5U);
  memory.free(all);
  EXPECT_EQ(memory.trim(), 40_MiB);
  EXPECT_EQ(memory.allocate(request).place, all.place) << "the window is used again";
  EXPECT_EQ(memory.stats().allocated, 46_MiB);
}

TEST(DeviceMemory, DirectivesAreChecked) {
  DeviceMemory memory(spec_with_domains());
  using enum MemoryPolicy;
  for (const auto& [policy, domains] :
       std::vector<std::pair<MemoryPolicy, std::vector<std::uint16_t>>>{
           {Bind, {}}, {Preferred, {}}, {Bind, {1, 1}}, {Interleave, {0, 4}}, {Preferred, {9}}})
    EXPECT_THROW(memory.allocate(directed(1_B, policy, domains)), InvalidArgument);
  DeviceSpec spec = spec_with_domains();
  spec.memory_domains = 5;
  spec.regions = 5;
  EXPECT_THROW(DeviceMemory{spec}, InvalidArgument) << "a region is for programs";
}

TEST(DeviceMemory, InterleavingTakesAllPiecesOrNone) {
  DeviceMemory memory(spec_with_domains());
  memory.allocate(directed(12_MiB, MemoryPolicy::Bind, {3}));
  const MemoryStats before = memory.stats();
  EXPECT_THROW(memory.allocate(directed(32_MiB, MemoryPolicy::Interleave, {})), OutOfDeviceMemory);
  EXPECT_EQ(memory.stats().allocated, before.allocated);
  EXPECT_EQ(memory.stats().pieces, before.pieces);
  for (std::uint16_t domain = 0; domain < 3; ++domain)
    EXPECT_NO_THROW(memory.allocate(directed(16_MiB, MemoryPolicy::Bind, {domain})));
}

TEST(DeviceMemory, TheSnapshotCoversEveryByte) {
  DeviceMemory memory(spec_with_domains());
  std::vector<Allocation> live;
  for (std::uint64_t i = 1; i <= 50; ++i) live.push_back(memory.allocate(Bytes{i * 1000}));
  for (std::size_t i = 0; i < live.size(); i += 3) memory.free(live[i]);
  for (const RegionSnapshot& region : memory.snapshot()) {
    Bytes end, allocated;
    std::uint64_t blocks = 0;
    for (const Block& block : region.blocks) {
      EXPECT_EQ(block.offset, end);
      end += block.length;
      if (block.state != BlockState::Allocated) continue;
      allocated += block.length;
      ++blocks;
    }
    EXPECT_EQ(end, region.length);
    EXPECT_EQ(allocated, region.allocated);
    EXPECT_EQ(blocks, region.region == RegionId{0} ? 33U : 0U);
  }
}

TEST(DeviceMemory, PeaksAndTotalsRestart) {
  DeviceMemory memory(small_spec());
  memory.free(memory.allocate(1000_B));
  MemoryStats stats = memory.stats();
  EXPECT_EQ(stats.peak_requested, 1000_B);
  EXPECT_EQ(stats.requested, 0_B);
  EXPECT_EQ(stats.total_allocated, 1_KiB);
  EXPECT_EQ(stats.total_freed, 1_KiB);
  EXPECT_EQ(stats.peak_live, 1U);
  memory.reset_peak();
  memory.reset_totals();
  stats = memory.stats();
  EXPECT_EQ(stats.peak_requested, 0_B);
  EXPECT_EQ(stats.peak_live, 0U);
  EXPECT_EQ(stats.allocations + stats.frees, 0U);
  EXPECT_EQ(stats.total_allocated, 0_B);
}

TEST(DeviceMemory, PoisonFillsFreshFreedAndPaddingBytes) {
  DeviceSpec spec = small_spec();
  spec.poison = 1;
  DeviceMemory memory(spec);
  const Allocation first = memory.allocate(100_B);
  std::byte* bytes = memory.address(first.place);
  EXPECT_EQ(bytes[0], std::byte{0xFF});
  EXPECT_EQ(bytes[127], std::byte{0xFF}) << "the padding as well";
  std::memset(bytes, 0, 128);
  memory.free(first);
  EXPECT_EQ(bytes[0], std::byte{0xFF});
  float number = 0;
  std::memcpy(&number, bytes, sizeof number);
  EXPECT_NE(number, number) << "read as a number it is none";
}

}  // namespace
}  // namespace spyre::device_sim
