// spyre/lazy/step_detector_test.cpp — loops that never read are cut once a step, and keep their values.
#include "spyre/lazy/step_detector.h"

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using Floats = std::vector<float>;

class StepDetectorTest : public DeviceFixture {
 protected:
  static constexpr int kOps = 190;

  /// One step: kOps nodes of different structure, the same ones each time. Temporaries die within.
  void step(const DeviceTensor& x, const DeviceTensor& w, float scale) {
    DeviceTensor t = empty({4});
    apply("mul", {in(x), number(scale)}, t);
    for (int i = 2; i < kOps; ++i) {
      const DeviceTensor next = empty({4});
      const char* const op = i % 7 == 0 ? "maximum" : i % 5 == 0 ? "sub" : "add";
      apply(op, {in(t), in(w)}, next);
      t = next;
    }
    apply("mul", {in(t), number(0.0625)}, x);
  }

  Floats run(int steps) {
    const DeviceTensor x = tensor<float>({4}, {1, 2, 3, 4});
    const DeviceTensor w = tensor<float>({4}, {1, 0.5, 0.25, 2});
    for (int i = 0; i < steps; ++i) step(x, w, 1.0F + static_cast<float>(i % 3));
    return read<float>(x);
  }
};

TEST_F(StepDetectorTest, CutsOncePerStepAndHits) {
  run(40);
  EXPECT_GE(flushes(FlushReason::Step), 38U);
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 0U);
  const kernels::CacheCounts plans = device.stats().plan_cache;
  EXPECT_LE(plans.misses, 4U) << plans.hits << " hits";
}

TEST_F(StepDetectorTest, ValuesAcrossACutSurvive) {
  const Floats cut = run(7);
  Settings settings = device.settings();
  settings.mode = Mode::Eager;
  device.configure(settings);
  EXPECT_EQ(run(7), cut);
}

TEST_F(StepDetectorTest, StepsLongerThanTheLimitAreFoundToo) {
  Settings settings = device.settings();
  settings.max_nodes = 100;  // a step takes two traces
  device.configure(settings);
  run(40);
  EXPECT_LE(device.stats().plan_cache.misses, 12U)  // of 80 launches
  ;
}

TEST_F(StepDetectorTest, ShortTracesAreNotCut) {
  const DeviceTensor x = tensor<float>({2}, {0, 0});
  for (int i = 0; i < 60; ++i) apply("add", {in(x), number(1)}, x);
  EXPECT_EQ(flushes(FlushReason::Step), 0U);
  EXPECT_EQ(read<float>(x), (Floats{60, 60}));
}

TEST_F(StepDetectorTest, SignatureIgnoresBuffersAndNumbers) {
  Trace trace({0});
  const DeviceTensor a = empty({4}), b = empty({4}), c = empty({2, 2});
  const auto record = [&](const DeviceTensor& from, const DeviceTensor& to, double value) {
    const std::vector<Input> inputs{in(from), number(value), number(1)};
    trace.append(Pointwise{kernels::op_named("add"), DType::F32, DType::F32, to.sizes.span(),
                           inputs, to.view(), 0});
  };
  record(a, b, 1);
  record(b, a, 2);
  record(c, c, 1);
  EXPECT_EQ(trace.signature(0), trace.signature(1));
  EXPECT_NE(trace.signature(0), trace.signature(2));
}

}  // namespace
}  // namespace spyre::lazy
