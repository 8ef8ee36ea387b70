// spyre/lazy/scratchpad_plan_test.cpp — who stays, who does not, who takes whose place.
#include "spyre/lazy/scratchpad_plan.h"

#include <gtest/gtest.h>

namespace spyre::lazy {
namespace {

using Offsets = std::vector<std::optional<std::uint64_t>>;

Offsets offsets_of(std::vector<ScratchpadTenant> tenants, Bytes room) {
  return plan_scratchpad(tenants, room).offsets;
}

TEST(ScratchpadPlanTest, WhoLivesTogetherLiesApart) {
  EXPECT_EQ(offsets_of({{100_B, 0, 2}, {256_B, 1, 2}, {1_B, 2, 2}}, 1_KiB), (Offsets{0, 128, 384}));
}

TEST(ScratchpadPlanTest, ThePlaceOfTheDeadServesAgain) {
  EXPECT_EQ(offsets_of({{128_B, 0, 1}, {128_B, 1, 2}, {128_B, 2, 3}}, 1_KiB), (Offsets{0, 128, 0}));
}

TEST(ScratchpadPlanTest, AWriterMayWriteOverItsLastInput) {
  EXPECT_EQ(offsets_of({{128_B, 0, 1}, {128_B, 1, 2, true}}, 1_KiB), (Offsets{0, 0}));
}

TEST(ScratchpadPlanTest, NothingIsEvictedForALaterOne) {
  const ScratchpadPlan plan = plan_scratchpad(
      std::vector<ScratchpadTenant>{{256_B, 0, 3}, {512_B, 1, 3}, {128_B, 2, 3}}, 512_B);
  EXPECT_EQ(plan.offsets, (Offsets{0, std::nullopt, 256}));
  EXPECT_EQ(plan.used, 384_B);
}

}  // namespace
}  // namespace spyre::lazy
