// spyre/lazy/spoilage_test.cpp — failure spreads along reads and stops at whole writes.
#include "spoilage.h"

#include <gtest/gtest.h>

namespace spyre::lazy {
namespace {

LaunchStep step(std::vector<std::uint32_t> reads, std::uint32_t write, std::int64_t end = 64) {
  LaunchStep s;
  for (const std::uint32_t b : reads) s.touches.push_back({b, false, 0, 64, 64});
  s.touches.push_back({write, true, 0, end, end});
  return s;
}

TEST(Spoilage, DependentsAreCalledOffOthersRun) {
  const std::vector<LaunchStep> steps{step({0}, 1), step({1}, 2), step({0}, 3), step({2, 3}, 4)};
  const std::vector<std::uint64_t> bytes(5, 64);
  std::vector<std::uint8_t> skip(4, 0);
  std::vector<bool> spoiled{false, true, false, false, false};  // step 0 failed
  spread_spoilage(steps, 1, bytes, spoiled, skip);
  EXPECT_EQ(skip, (std::vector<std::uint8_t>{0, 1, 0, 1}));
  EXPECT_EQ(spoiled, (std::vector<bool>{false, true, true, false, true}));
}

TEST(Spoilage, AWholeWriteMakesGoodAPartDoesNot) {
  const std::vector<std::uint64_t> bytes(2, 64);
  for (const std::uint64_t end : {64, 32}) {
    const std::vector<LaunchStep> steps{step({0}, 1, end)};
    std::vector<std::uint8_t> skip(1, 0);
    std::vector<bool> spoiled{false, true};
    spread_spoilage(steps, 0, bytes, spoiled, skip);
    EXPECT_EQ(spoiled[1], end == 32);
    EXPECT_EQ(skip[0], 0);
  }
}

}  // namespace
}  // namespace spyre::lazy
