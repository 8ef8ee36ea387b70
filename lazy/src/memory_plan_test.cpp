// spyre/lazy/memory_plan_test.cpp — lifetimes, sharing, donation, and bytes that must be zero.
#include "spyre/lazy/memory_plan.h"

#include <gtest/gtest.h>

namespace spyre::lazy {
namespace {

using Kind = Placement::Kind;

constexpr std::int64_t kBytes = 1024;
constexpr BufferFacts kInput{kBytes, true, true}, kDyingInput{kBytes, false, true},
    kOutput{kBytes, true, false}, kTemporary{kBytes, false, false};

Touch reads(std::uint32_t b, std::int64_t begin = 0, std::int64_t end = kBytes) {
  return {b, false, begin, end, end - begin};
}
Touch writes(std::uint32_t b, std::int64_t begin = 0, std::int64_t end = kBytes) {
  return {b, true, begin, end, end - begin};
}
Touch writes_columns(std::uint32_t b, std::int64_t first, std::int64_t width) {
  return {b, true, first, kBytes - 64 + first + width, width, 64};
}
Touch writes_some(std::uint32_t b) { return {b, true, 0, kBytes}; }

StepTouches step(std::vector<Touch> touches) {
  StepTouches s;
  s.touches = std::move(touches);
  return s;
}
StepTouches in_place(std::uint32_t from, std::uint32_t to) {
  StepTouches s = step({reads(from), writes(to)});
  s.in_place_input = from;
  s.in_place_output = to;
  return s;
}

MemoryPlan plan(std::vector<BufferFacts> buffers, std::vector<StepTouches> steps) {
  return plan_memory(buffers, steps);
}

TEST(MemoryPlan, InputsAreGivenAndOutputsNew) {
  const MemoryPlan p = plan({kInput, kOutput, kTemporary}, {step({reads(0), writes(1)})});
  EXPECT_EQ(p.placements[0].kind, Kind::Given);
  EXPECT_EQ(p.placements[1].kind, Kind::New);
  EXPECT_EQ(p.placements[2].kind, Kind::None);
  EXPECT_EQ(p.arena, 0_B);
  EXPECT_TRUE(p.fills.empty());
}

TEST(MemoryPlan, TemporariesThatDoNotMeetShareTheArena) {
  // 0 -> t1 -> t2 -> t3 -> out: t3 may lie where t1 was.
  const MemoryPlan p = plan({kInput, kTemporary, kTemporary, kTemporary, kOutput},
                            {step({reads(0), writes(1)}), step({reads(1), writes(2)}),
                             step({reads(2), writes(3)}), step({reads(3), writes(4)})});
  EXPECT_EQ(p.arena, Bytes{2 * kBytes});
  EXPECT_NE(p.placements[1].offset, p.placements[2].offset);
  EXPECT_EQ(p.placements[1].offset, p.placements[3].offset);
}

TEST(MemoryPlan, InPlaceStepsShareOnePlace) {
  const MemoryPlan p =
      plan({kInput, kTemporary, kTemporary, kOutput},
           {step({reads(0), writes(1)}), in_place(1, 2), step({reads(2), writes(3)})});
  EXPECT_EQ(p.arena, Bytes{kBytes});
  EXPECT_EQ(p.placements[1].offset, p.placements[2].offset);
}

TEST(MemoryPlan, NotInPlaceOfWhatIsPlacedOtherwise) {
  BufferFacts bound = kOutput;
  bound.directive = 1;
  EXPECT_EQ(plan({kDyingInput, bound}, {in_place(0, 1)}).placements[1].kind, Kind::New);
  BufferFacts donor = kDyingInput;
  donor.directive = 1;
  EXPECT_EQ(plan({donor, bound}, {in_place(0, 1)}).placements[1].kind, Kind::Donated);
  EXPECT_EQ(plan({kInput, kTemporary, bound}, {step({reads(0), writes(1)}), in_place(1, 2)})
                .placements[1]
                .kind,
            Kind::Arena)
      << "it does not lend to another either";
}

TEST(MemoryPlan, TouchesKnowHowMuchTheyMove) {
  EXPECT_EQ(reads(0).bytes(), std::uint64_t{kBytes});
  EXPECT_EQ(writes_columns(0, 8, 16).bytes(), std::uint64_t{kBytes / 64 * 16});
  EXPECT_EQ(writes_some(0).bytes(), std::uint64_t{kBytes});
}

TEST(MemoryPlan, NotInPlaceIfTheInputIsReadLater) {
  const MemoryPlan p =
      plan({kInput, kTemporary, kTemporary, kOutput},
           {step({reads(0), writes(1)}), in_place(1, 2), step({reads(1), reads(2), writes(3)})});
  EXPECT_EQ(p.arena, Bytes{2 * kBytes});
}

TEST(MemoryPlan, ADyingInputDonatesItsMemory) {
  const MemoryPlan p = plan({kDyingInput, kOutput}, {in_place(0, 1)});
  EXPECT_EQ(p.placements[1], (Placement{Kind::Donated, 0, 0}));
  EXPECT_EQ(plan({kInput, kOutput}, {in_place(0, 1)}).placements[1].kind, Kind::New);
  BufferFacts larger = kOutput;
  larger.bytes = 2 * kBytes;
  EXPECT_EQ(plan({kDyingInput, larger}, {in_place(0, 1)}).placements[1].kind, Kind::New);
}

TEST(MemoryPlan, AResultLendsItsMemoryToWhatItIsComputedInPlaceOf) {
  const MemoryPlan p =
      plan({kInput, kTemporary, kTemporary, kOutput},
           {step({reads(0), writes(1)}), in_place(1, 2), step({reads(0)}), in_place(2, 3)});
  EXPECT_EQ(p.arena, 0_B);
  EXPECT_EQ(p.placements[1], (Placement{Kind::Lent, 3, 0}));
  EXPECT_EQ(p.placements[2], (Placement{Kind::Lent, 3, 0}));
  EXPECT_EQ(p.placements[3].kind, Kind::New);
}

TEST(MemoryPlan, ResultsThatAreNotMadeInPlaceLendNothing) {
  const StepTouches make = step({reads(0), writes(1)});
  const auto kind_of_temporary = [&](StepTouches last, std::vector<StepTouches> more = {}) {
    std::vector<StepTouches> steps{make, std::move(last)};
    steps.insert(steps.end(), more.begin(), more.end());
    return plan({kInput, kTemporary, kOutput}, std::move(steps)).placements[1].kind;
  };
  EXPECT_EQ(kind_of_temporary(in_place(1, 2)), Kind::Lent);
  EXPECT_EQ(kind_of_temporary(step({reads(1), writes(2)})), Kind::Arena);
  EXPECT_EQ(kind_of_temporary(in_place(1, 2), {step({reads(1)})}), Kind::Arena) << "read later";
  StepTouches part = in_place(1, 2);
  part.touches = {reads(1), writes(2, 0, kBytes / 2)};
  EXPECT_EQ(kind_of_temporary(part), Kind::Arena) << "the rest would show the temporary";
  EXPECT_EQ(plan({kInput, kTemporary, kOutput}, {make, step({reads(0), writes(2)}), in_place(1, 2)})
                .placements[1]
                .kind,
            Kind::Arena)
      << "the result is written before";
}

TEST(MemoryPlan, OneDonorServesOnce) {
  StepTouches second = step({reads(0), writes(2)});
  const MemoryPlan p = plan({kDyingInput, kOutput, kOutput}, {in_place(0, 1), second});
  EXPECT_EQ(p.placements[1].kind, Kind::New);  // still read by the second step
}

TEST(MemoryPlan, UnwrittenBytesAreZeroed) {
  // Read before any write; written in part and readable later; read across a hole.
  EXPECT_EQ(plan({kTemporary, kOutput}, {step({reads(0), writes(1)})}).fills,
            (std::vector<ZeroFill>{{0, 0}}));
  EXPECT_EQ(plan({kOutput}, {step({writes(0, 0, 512)})}).fills, (std::vector<ZeroFill>{{0, 0}}));
  EXPECT_EQ(plan({kOutput}, {step({writes_some(0)})}).fills, (std::vector<ZeroFill>{{0, 0}}));
  const StepTouches hole = step({reads(0, 0, 1024), writes(1)});
  EXPECT_EQ(
      plan({kTemporary, kOutput}, {step({writes(0, 0, 256)}), step({writes(0, 512, 1024)}), hole})
          .fills,
      (std::vector<ZeroFill>{{0, 0}}));
}

TEST(MemoryPlan, PartsThatCoverNeedNoZeros) {
  const StepTouches read = step({reads(0), writes(1)});
  EXPECT_TRUE(
      plan({kTemporary, kOutput}, {step({writes(0, 512, 1024)}), step({writes(0, 0, 512)}), read})
          .fills.empty());
  EXPECT_TRUE(
      plan({kOutput}, {step({writes(0, 0, 600)}), step({writes(0, 500, 1024)})}).fills.empty());
  EXPECT_TRUE(
      plan({kTemporary, kOutput}, {step({writes(0, 0, 256)}), step({reads(0, 0, 256), writes(1)})})
          .fills.empty());
}

TEST(MemoryPlan, ColumnsSideBySideCover) {
  EXPECT_TRUE(plan({kOutput}, {step({writes_columns(0, 0, 16)}), step({writes_columns(0, 16, 48)})})
                  .fills.empty());
  EXPECT_FALSE(
      plan({kOutput}, {step({writes_columns(0, 0, 16)}), step({writes_columns(0, 20, 44)})})
          .fills.empty());
}

}  // namespace
}  // namespace spyre::lazy
