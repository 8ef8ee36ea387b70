// spyre/device_sim/clock_test.cpp — pipelines overlap, streams do not, the host pays for calls.
#include "clock.h"

#include <gtest/gtest.h>

#include "price.h"

namespace spyre::device_sim {
namespace {

DeviceSpec free_host() {
  DeviceSpec spec;
  spec.host_launch_ps = spec.host_enqueue_ps = spec.submit_latency_ps = spec.host_sync_ps = 0;
  return spec;
}

const Operation kUpload{.what = HostToDevice{.target = {.length = 3_MiB}}};
const Operation kCompute{.what = Compute{},
                         .work = {.bytes_read = 8 << 20, .bytes_written = 8 << 20}};
const Operation kCallback{.what = HostCallback{}};

TEST(Clock, PipelinesOverlap) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  const ModelledSpan copy = clock.submit(kUpload, PipelineId::HostToDevice, {});
  const ModelledSpan compute = clock.submit(kCompute, PipelineId::Compute, {});
  EXPECT_EQ(copy.end, price(kUpload, spec));
  EXPECT_EQ(compute.end, price(kCompute, spec));
}

TEST(Clock, AStreamIsASum) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  const ModelledSpan copy = clock.submit(kUpload, PipelineId::HostToDevice, {});
  const ModelledSpan compute = clock.submit(kCompute, PipelineId::Compute, copy.end);
  EXPECT_EQ(compute.end, price(kUpload, spec) + price(kCompute, spec));
}

TEST(Clock, APipelineIsASum) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  clock.submit(kCompute, PipelineId::Compute, {});
  const ModelledSpan second = clock.submit(kCompute, PipelineId::Compute, {});
  EXPECT_EQ(second.start, price(kCompute, spec));
}

TEST(Clock, FourCallbacksRunAtOnce) {
  const DeviceSpec spec = free_host();
  Clock clock(spec);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(clock.submit(kCallback, PipelineId::Callback, {}).start, Picoseconds{0});
  EXPECT_EQ(clock.submit(kCallback, PipelineId::Callback, {}).start,
            Picoseconds{spec.host_callback_ps});
}

TEST(Clock, TheHostPaysForCallsAndWaits) {
  const DeviceSpec spec;
  Clock clock(spec);
  const ModelledSpan first = clock.submit(kCompute, PipelineId::Compute, {});
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
  const ModelledSpan join = clock.submit({}, PipelineId::Join, Picoseconds{77});
  EXPECT_EQ(join.end, Picoseconds{77});
  EXPECT_EQ(clock.host(), Picoseconds{0});
}

}  // namespace
}  // namespace spyre::device_sim
