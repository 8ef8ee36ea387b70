// spyre/lazy/arena_test.cpp — launches in progress share the memory of their intermediates.
#include "arena.h"

#include <array>
#include <latch>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using device_sim::Urgency;

class ArenaTest : public DeviceFixture {
 protected:
  static constexpr std::int64_t kSide = 256, kCount = kSide * kSide;
  static constexpr Bytes kSize{kCount * sizeof(float)};

  ArenaTest() : DeviceFixture(unfused()) {}

  static Settings unfused() {
    Settings settings = interpreted();
    settings.passes = "-fuse_pointwise";
    return settings;
  }

  /// x * factor, transposed, + x, with an intermediate in an arena. Not waited for.
  DeviceTensor launch(const DeviceTensor& x, double factor) {
    DeviceTensor out = empty({kSide, kSide});
    {
      const DeviceTensor between = empty({kSide, kSide});
      apply("mul", {in(x), number(factor)}, between);
      apply("add", {in(between.transposed()), in(x)}, out);
    }
    device.flush(kStream, FlushReason::Event);
    return out;
  }

  Bytes allocated() const { return device.stats().memory.allocated; }
};

TEST_F(ArenaTest, LaunchesInProgressShareOne) {
  const DeviceTensor x = tensor<float>({kSide, kSide}, std::vector<float>(kCount, 1.0F));
  const Bytes before = allocated();
  std::latch recorded{1};
  std::array hold{
      device_sim::Operation{.what = device_sim::HostCallback{[&] { recorded.wait(); }}}};
  device.card().enqueue(kStream, hold, Urgency::Background);
  std::vector<DeviceTensor> results;
  for (int i = 0; i < 6; ++i) results.push_back(launch(x, i));
  EXPECT_EQ(allocated() - before, kSize * 7);  // six results and one arena
  recorded.count_down();
  device.synchronize(kStream);
  EXPECT_EQ(allocated() - before, kSize * 6);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(read<float>(results[i]), std::vector<float>(kCount, static_cast<float>(i + 1)));
}

TEST_F(ArenaTest, AProgramThatWaitsForEachLaunchHasOneArgumentSlot) {
  const DeviceTensor x = tensor<float>({kSide, kSide}, std::vector<float>(kCount, 1.0F));
  const auto slots = [&] { return device.stats().memory.program_allocated; };
  const Bytes before = slots();
  launch(x, 1);
  device.synchronize(kStream);
  const Bytes one = slots() - before;
  EXPECT_GT(one, 0_B);
  for (int i = 0; i < 10; ++i) {
    launch(x, i);
    device.synchronize(kStream);
  }
  EXPECT_EQ(slots() - before, one);
  for (int i = 0; i < 3; ++i) launch(x, i);  // as many as may be in progress
  device.synchronize(kStream);
  EXPECT_EQ(slots() - before, one * 3);
}

TEST_F(ArenaTest, EndsWithTheLastLaunchThatUsesIt) {
  const DeviceTensor x = tensor<float>({kSide, kSide}, std::vector<float>(kCount, 1.0F));
  const Bytes before = allocated();
  for (int i = 0; i < 20; ++i) launch(x, i);
  device.synchronize(kStream);
  EXPECT_EQ(allocated(), before);
}

}  // namespace
}  // namespace spyre::lazy
