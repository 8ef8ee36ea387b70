// spyre/device_sim/clock_test.cpp — pipelines overlap, streams do not, the host pays for calls.
#include "clock.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "price.h"

namespace spyre::device_sim {
namespace {

DeviceSpec free_host() {
  DeviceSpec spec;
  spec.host_launch_ps = spec.host_enqueue_ps = spec.submit_latency_ps = spec.host_sync_ps = 0;
  return spec;
}

constexpr StreamId kFirst{0}, kSecond{33};
const Charge kUpload{.pipeline = PipelineId::HostToDevice, .bytes = 3 << 20};
const Charge kCompute{.pipeline = PipelineId::Compute,
                      .work = {.bytes_read = 8 << 20, .bytes_written = 8 << 20}};
const Charge kCallback{.pipeline = PipelineId::Callback};

Picoseconds price_on(const DeviceSpec& spec, const Charge& charge) {
  return price_of(charge, spec).total;
}

TEST(Clock, PipelinesOverlap) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  EXPECT_EQ(clock.submit(kFirst, kUpload).end, price_on(spec, kUpload));
  EXPECT_EQ(clock.submit(kSecond, kCompute).end, price_on(spec, kCompute));
  EXPECT_EQ(clock.latest(), std::max(price_on(spec, kUpload), price_on(spec, kCompute)));
}

TEST(Clock, AStreamIsASum) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  clock.submit(kFirst, kUpload);
  EXPECT_EQ(clock.submit(kFirst, kCompute).end, price_on(spec, kUpload) + price_on(spec, kCompute));
  EXPECT_EQ(clock.last(kSecond), Picoseconds{0});
}

TEST(Clock, APipelineIsASum) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  clock.submit(kFirst, kCompute);
  EXPECT_EQ(clock.submit(kSecond, kCompute).start, price_on(spec, kCompute));
}

TEST(Clock, WithoutABarrierPipelinesOverlapWithinAStream) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  const ModelledSpan compute = clock.submit(kFirst, kCompute);
  EXPECT_EQ(clock.submit(kFirst, kUpload, false).start, Picoseconds{0});
  EXPECT_EQ(clock.submit(kFirst, kCompute, false).start, compute.end) << "the same pipeline";
  clock.join(kFirst, Picoseconds{1'000'000'000'000});
  EXPECT_EQ(clock.submit(kFirst, kUpload, false).start, Picoseconds{1'000'000'000'000});
  EXPECT_EQ(clock.submit(kFirst, kUpload, false, Picoseconds{3'000'000'000'000}).start,
            Picoseconds{3'000'000'000'000});
}

TEST(Clock, AsManyCallbacksRunAtOnceAsThereAreWorkers) {
  DeviceSpec spec = free_host();
  spec.host_callback_workers = 3;
  Clock clock(spec);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(clock.submit({i}, kCallback).start, Picoseconds{0});
  EXPECT_EQ(clock.submit({3}, kCallback).start, Picoseconds{spec.host_callback_ps});
}

TEST(Clock, TheHostPaysForCallsAndWaits) {
  const DeviceSpec spec;
  Clock clock(spec);
  const ModelledSpan first = clock.submit(kFirst, kCompute);
  EXPECT_EQ(first.submitted - first.submit, Picoseconds{spec.host_launch_ps});
  EXPECT_EQ(first.start, first.submitted + Picoseconds{spec.submit_latency_ps});
  clock.synchronize(first.end);
  EXPECT_EQ(clock.host(), first.end + Picoseconds{spec.host_sync_ps});
  clock.synchronize(first.end);
  EXPECT_EQ(clock.host(), first.end + Picoseconds{2 * spec.host_sync_ps});
}

TEST(Clock, JoinsTakeNoTime) {
  const DeviceSpec spec;
  Clock clock(spec);
  EXPECT_EQ(clock.join(kFirst, Picoseconds{77}).end, Picoseconds{77});
  EXPECT_EQ(clock.join(kFirst, Picoseconds{33}).end, Picoseconds{77});
  EXPECT_EQ(clock.host(), Picoseconds{0});
}

TEST(Clock, AnchoredHostsTakeAsLongAsThisOne) {
  DeviceSpec spec;
  spec.clock = "anchored";
  Clock clock(spec);
  clock.anchor(Picoseconds{5'000'000});
  const ModelledSpan first = clock.submit(kFirst, kCompute);
  EXPECT_EQ(first.submit, Picoseconds{5'000'000});
  EXPECT_EQ(first.submitted, first.submit) << "the call's own time has passed already";
  clock.synchronize(first.end);
  EXPECT_EQ(clock.host(), first.end);
  clock.anchor(Picoseconds{6'000'000});
  EXPECT_EQ(clock.host(), first.end + Picoseconds{1'000'000}) << "waits add to the wall's time";
}

TEST(Clock, RealtimeHostsWaitByThemselves) {
  DeviceSpec spec;
  spec.clock = "realtime";
  Clock clock(spec);
  clock.synchronize(Picoseconds{9'000'000});
  clock.anchor(Picoseconds{9'500'000});
  EXPECT_EQ(clock.host(), Picoseconds{9'500'000});
}

}  // namespace
}  // namespace spyre::device_sim
