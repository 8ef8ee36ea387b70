// spyre/lazy/step_detector_test.cpp — loops that never read are cut once a step, and keep their values.
#include "spyre/lazy/step_detector.h"

#include <array>

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

  /// A sequence of `ops` operations without periods.
  void aperiodic_step(const DeviceTensor& x, int ops) {
    constexpr std::array<const char*, 4> kNames{"add", "sub", "maximum", "minimum"};
    std::uint32_t seed = 1;
    for (int i = 0; i < ops; ++i) {
      seed = seed * 1664525U + 1013904223U;
      apply(kNames[seed >> 30], {in(x), number(0.5)}, x);
    }
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

TEST_F(StepDetectorTest, RunsWithinAStepStayTogether) {
  constexpr int kParameters = 150;
  std::vector<DeviceTensor> parameters, moments;
  for (int i = 0; i < kParameters; ++i) {
    parameters.push_back(tensor<float>({2}, {1, static_cast<float>(i)}));
    moments.push_back(tensor<float>({2}, {0, 0}));
  }
  const auto update = [&] {  // as optimizers with lists of tensors write it
    for (const DeviceTensor& m : moments) apply("mul", {in(m), number(0.5)}, m);
    for (int i = 0; i < kParameters; ++i)
      apply("sub", {in(moments[i]), in(parameters[i])}, moments[i]);
    for (int i = 0; i < kParameters; ++i)
      apply("add", {in(parameters[i]), in(moments[i])}, parameters[i]);
  };
  for (int step = 0; step < 5; ++step) {
    update();
    device.synchronize(kStream);
  }
  EXPECT_EQ(flushes(FlushReason::Step), 0U);
  // One for all that a parameter needs.
  EXPECT_EQ(device.stats().kernel_launches, 5U * kParameters);
  for (int step = 0; step < 20; ++step) update();  // read by nobody
  EXPECT_GE(flushes(FlushReason::Step), 18U);
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 0U);
  device.synchronize(kStream);
  EXPECT_LE(device.stats().kernel_launches, 5U * kParameters + 22U * kParameters);
}

TEST_F(StepDetectorTest, RunsThatGoOnAreCutAfterWholePeriods) {
  const DeviceTensor x = tensor<float>({2}, {0, 1});
  const auto turn = [&] {
    apply("add", {in(x), number(1)}, x);
    apply("mul", {in(x), number(0.5)}, x);
    apply("maximum", {in(x), number(-1)}, x);
  };
  for (int i = 0; i < 3000; ++i) turn();
  device.synchronize(kStream);
  EXPECT_EQ(flushes(FlushReason::Step), 9000U / (StepDetector::kLongestRun / 3 * 3));
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 0U);
  EXPECT_LE(device.stats().plan_cache.misses, 2U);  // the pieces, and what is left
  EXPECT_EQ(read<float>(x), (Floats{1, 1}));
}

TEST_F(StepDetectorTest, AStepThatBeginsWithARunIsCutBeforeTheRun) {
  const DeviceTensor x = tensor<float>({2}, {0, 1});
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < 40; ++k) apply("mul", {in(x), number(1)}, x);
    aperiodic_step(x, 200);
  }
  EXPECT_EQ(flushes(FlushReason::Step), 29U);
  device.synchronize(kStream);  // the last one begins where all did
  EXPECT_EQ(device.stats().plan_cache.misses, 1U);
}

TEST_F(StepDetectorTest, WhatBeganBehindALimitIsForgotten) {
  Settings settings = device.settings();
  settings.max_nodes = 300;
  device.configure(settings);
  const DeviceTensor x = tensor<float>({4}, {1, 2, 3, 4});
  for (int i = 0; i < 200; ++i) apply("mul", {in(x), number(1)}, x);
  aperiodic_step(x, 200);  // the limit comes in its midst
  device.synchronize(kStream);
  for (int i = 0; i < 10; ++i) {
    aperiodic_step(x, 200);
    device.synchronize(kStream);
  }
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 1U);
  EXPECT_EQ(flushes(FlushReason::Step), 1U);  // not one in every step
}

TEST_F(StepDetectorTest, BeginningsOfAnotherProgramAreForgotten) {
  const DeviceTensor x = tensor<float>({4}, {1, 2, 3, 4});
  aperiodic_step(x, 100);
  device.synchronize(kStream);
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 100; ++k) apply("mul", {in(x), number(1)}, x);
    aperiodic_step(x, 100);
    device.synchronize(kStream);
  }
  EXPECT_EQ(flushes(FlushReason::Step), 1U);
}

TEST_F(StepDetectorTest, StepsBetweenReadsAreCutEvenIfSomethingStandsBeforeThem) {
  const DeviceTensor x = tensor<float>({4}, {1, 2, 3, 4});
  aperiodic_step(x, 100);
  device.synchronize(kStream);
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 100; ++k) apply("mul", {in(x), number(1)}, x);
    for (int k = 0; k < 3; ++k) aperiodic_step(x, 100);
    device.synchronize(kStream);
  }
  EXPECT_EQ(flushes(FlushReason::Step), 30U);
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
