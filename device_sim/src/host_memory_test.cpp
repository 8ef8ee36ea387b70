// spyre/device_sim/host_memory_test.cpp — what a mapping makes resident.
#include "host_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace spyre::device_sim {
namespace {

std::size_t resident_pages(const HostMapping& mapping) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(mapping.length().count / page);
  EXPECT_EQ(mincore(mapping.data(), mapping.length().count, pages.data()), 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](unsigned char p) { return (p & 1U) != 0; }));
}

TEST(HostMapping, SmallPagesAreResidentOnlyWhereTheyAreTouched) {
  const HostMapping mapping(4_MiB, Pages::Small);
  EXPECT_EQ(resident_pages(mapping), 0U);
  mapping.data()[0] = std::byte{1};
  mapping.data()[3 << 20] = std::byte{1};
  EXPECT_EQ(resident_pages(mapping), 2U);
}

TEST(HostMapping, StartsAtAHugePageAndIsZeroAgainOnceDiscarded) {
  const HostMapping mapping(4_MiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.data()) % kHugePage.count, 0U);
  mapping.data()[5] = std::byte{1};
  mapping.discard({}, 4_MiB);
  EXPECT_EQ(mapping.data()[5], std::byte{0});
  mapping.discard({}, 4_MiB);
  EXPECT_EQ(resident_pages(mapping), 0U);
}

}  // namespace
}  // namespace spyre::device_sim
