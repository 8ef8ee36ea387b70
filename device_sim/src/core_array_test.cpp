// spyre/device_sim/core_array_test.cpp — into how many slices work is cut.
#include "core_array.h"

#include <gtest/gtest.h>

#include <atomic>

#include "test_programs.h"

namespace spyre::device_sim {
namespace {

constexpr std::int64_t kItems = 100;

/// How often a program of `items` is called, and that all of them are run.
int slices(const DeviceSpec& spec, const Work& work, std::int64_t items = kItems) {
  std::atomic<int> calls = 0;
  std::atomic<std::int64_t> done = 0;
  const LambdaProgram program(items, [&](std::int64_t first, std::int64_t last, Core&) {
    ++calls;
    done += last - first;
  });
  CoreArray(spec).run(program, {}, work);
  EXPECT_EQ(done, items);
  return calls;
}

TEST(CoreArray, SlicesAreWorthTheirStart) {
  const DeviceSpec spec = small_spec(32, 2);
  EXPECT_EQ(slices(spec, {.bytes_read = 1 << 10}), 1);
  EXPECT_EQ(slices(spec, {.bytes_read = 1 << 20, .bytes_written = 1 << 20}), 8);
  EXPECT_EQ(slices(spec, {.lane_ops = 1 << 20}), 8);
  EXPECT_EQ(slices(spec, kLargeWork), 32);
}

TEST(CoreArray, ThreadsGetEquallyManySlices) {
  const Work three{.macs = 3 << 20};
  EXPECT_EQ(slices(small_spec(32, 2), three), 4);
  EXPECT_EQ(slices(small_spec(32, 3), three), 3);
  EXPECT_EQ(slices(small_spec(32, 2), three, 3), 3) << "no more than there are items";
  EXPECT_EQ(slices(small_spec(2, 4), three), 2) << "no more than there are cores";
  EXPECT_EQ(slices(small_spec(32, 1), three), 1);
}

TEST(CoreArray, WorkThatTheCardDoesNotPayForIsSharedByItems) {
  EXPECT_EQ(slices(small_spec(32, 2), {}), 32);
  EXPECT_EQ(slices(small_spec(32, 2), {}, 5), 5);
  EXPECT_EQ(slices(small_spec(32, 2), {}, 1), 1);
}

}  // namespace
}  // namespace spyre::device_sim
