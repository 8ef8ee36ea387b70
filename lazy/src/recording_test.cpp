// spyre/lazy/recording_test.cpp — what is recorded together is launched together, and runs like what is not.
#include "spyre/lazy/recording.h"

#include <array>
#include <utility>

#include "device_fixture.h"
#include "spyre/lazy/captured_graph.h"

namespace spyre::lazy {
namespace {

using Floats = std::vector<float>;

class RecordingTest : public DeviceFixture {
 protected:
  static constexpr int kParts = 12;  // of a unit, 10 operations each
  static constexpr int kRounds = 10;

  void limit_nodes(std::uint32_t most) {
    Settings settings = device.settings();
    settings.max_nodes = most;
    device.configure(settings);
  }

  static void apply_in(Recording& unit, std::string_view op, std::vector<Input> inputs,
                       const DeviceTensor& out) {
    unit.record(Pointwise{kernels::op_named(op), out.dtype, out.dtype, out.sizes.span(), inputs,
                          out.view(), 0});
  }

  /// Ten operations of different structure, so that no run is seen; each call of it changes the values.
  static void part(Recording& unit, const DeviceTensor& x) {
    constexpr std::array<std::pair<const char*, double>, 10> kOps{{{"add", 0.5},
                                                                   {"mul", 1.5},
                                                                   {"sub", 0.25},
                                                                   {"maximum", -100},
                                                                   {"add", 0.5},
                                                                   {"minimum", 1e6},
                                                                   {"sub", 0.5},
                                                                   {"sub", 0.125},
                                                                   {"mul", 0.75},
                                                                   {"add", 0.5}}};
    for (const auto& [op, value] : kOps) apply_in(unit, op, {in(x), number(value)}, x);
  }

  void record_unit(const std::vector<DeviceTensor>& tensors, StreamId stream = kStream) {
    Recording unit(device, stream, 10 * tensors.size());
    for (const DeviceTensor& x : tensors) part(unit, x);
    unit.finish();
  }

  std::vector<DeviceTensor> parameters() {
    std::vector<DeviceTensor> tensors;
    for (int i = 0; i < kParts; ++i)
      tensors.push_back(tensor<float>({2}, {1, static_cast<float>(i)}));
    return tensors;
  }

  Floats run(int units) {
    const std::vector<DeviceTensor> tensors = parameters();
    for (int i = 0; i < units; ++i) record_unit(tensors);
    return read<float>(tensors.back());
  }
};

TEST_F(RecordingTest, WhatRepeatsWithinAUnitIsNoStep) {
  const std::vector<DeviceTensor> tensors = parameters();
  for (int round = 0; round < kRounds; ++round) {
    record_unit(tensors);
    device.synchronize(kStream);
  }
  EXPECT_EQ(flushes(FlushReason::Step), 0U);
  EXPECT_EQ(device.stats().kernel_launches, std::uint64_t{kRounds} * kParts);
  EXPECT_EQ(device.stats().plan_cache.misses, 1U);
}

TEST_F(RecordingTest, UnitsThatRepeatAreCutBetweenThem) {
  run(200);
  EXPECT_GT(flushes(FlushReason::Step), 10U);
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 0U);
  EXPECT_LE(device.stats().plan_cache.misses, 2U);  // the pieces, and what is left
}

TEST_F(RecordingTest, AUnitThatDoesNotFitBeginsANewTrace) {
  limit_nodes(300);  // two units and a half
  run(41);
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 20U);
  EXPECT_LE(device.stats().plan_cache.misses, 2U);
}

TEST_F(RecordingTest, AUnitThatIsLongerThanATraceTakesSeveral) {
  limit_nodes(50);
  const Floats divided = run(5);
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 14U);  // 120 nodes a unit: 50, 50, 20
  limit_nodes(4096);
  EXPECT_EQ(run(5), divided);
}

TEST_F(RecordingTest, ValuesAreThoseOfEagerMode) {
  const Floats together = run(7);
  Settings settings = device.settings();
  settings.mode = Mode::Eager;
  device.configure(settings);
  EXPECT_EQ(run(7), together);
}

TEST_F(RecordingTest, WhatStandsBetweenUnitsIsAUnitByItself) {
  const std::vector<DeviceTensor> tensors = parameters();
  for (int round = 0; round < 30; ++round) {
    record_unit(tensors);
    apply("mul", {in(tensors[0]), number(1)}, tensors[0]);
    record_unit(tensors);
    apply("add", {in(tensors[1]), number(1)}, tensors[1]);
  }
  device.synchronize(kStream);
  EXPECT_GT(flushes(FlushReason::Step), 0U);
  EXPECT_LE(device.stats().plan_cache.misses, 2U);
}

TEST_F(RecordingTest, AnExceptionLeavesWhatWasRecorded) {
  const DeviceTensor x = tensor<float>({2}, {1, 2});
  {
    Recording unit(device, kStream, 2);
    apply_in(unit, "add", {in(x), number(1)}, x);
    const std::vector<std::int64_t> ones(kMaxRank + 1, 1);
    const std::vector<Input> inputs{number(1), number(1)};
    EXPECT_THROW(unit.record(Pointwise{kernels::op_named("add"),
                                       DType::F32,
                                       DType::F32,
                                       ones,
                                       inputs,
                                       {x.buffer.get(), DType::F32, 0, ones}}),
                 Unsupported);
  }
  EXPECT_EQ(read<float>(x), (Floats{2, 3}));
}

TEST_F(RecordingTest, ReductionsAndTemporariesBelongToAUnit) {
  std::vector<DeviceTensor> xs, sums;
  for (int i = 0; i < kParts; ++i) {
    xs.push_back(tensor<float>({2, 3}, {1, 2, 3, 4, 5, static_cast<float>(i)}));
    sums.push_back(empty({2}));
  }
  const auto part_with_sum = [&](Recording& unit, const DeviceTensor& x, const DeviceTensor& sum) {
    part(unit, x);
    DeviceTensor doubled{unit.create_buffer({24}), DType::F32, {2, 3}, {3, 1}};
    apply_in(unit, "mul", {in(x), number(2)}, doubled);
    Dims strides{1, 0};
    View to = sum.view();
    to.strides = strides.span();
    unit.record(Reduce{kernels::Reduction::Sum, DType::F32, DType::F32, doubled.sizes.span(), 2,
                       doubled.view(), to, 0});
  };
  for (int round = 0; round < kRounds; ++round) {
    Recording unit(device, kStream, std::size_t{12} * kParts);
    for (int i = 0; i < kParts; ++i) part_with_sum(unit, xs[i], sums[i]);
    unit.finish();
    device.synchronize(kStream);
  }
  EXPECT_EQ(flushes(FlushReason::Step), 0U) << "what repeats within a unit is no beginning";
  EXPECT_EQ(device.stats().plan_cache.misses, 2U);  // the sums are new in the first round only
  for (int i = 0; i < kParts; ++i) {
    const Floats values = read<float>(xs[i]), sum = read<float>(sums[i]);
    EXPECT_FLOAT_EQ(sum[0], 2 * (values[0] + values[1] + values[2]));
    EXPECT_FLOAT_EQ(sum[1], 2 * (values[3] + values[4] + values[5]));
  }
}

TEST_F(RecordingTest, AUnitThatACaptureKeepsIsReplayed) {
  const Floats once = run(1), twice = run(2);
  ASSERT_NE(once, twice);
  const std::vector<DeviceTensor> tensors = parameters();
  const StreamId capture = device.begin_capture(kStream);
  record_unit(tensors, capture);
  const std::unique_ptr<CapturedGraph> graph = device.end_capture(capture);
  EXPECT_EQ(graph->nodes(), 10U * kParts);
  device.replay(kStream, *graph, {});
  EXPECT_EQ(read<float>(tensors.back()), once);
  device.replay(kStream, *graph, {});
  EXPECT_EQ(read<float>(tensors.back()), twice);
}

}  // namespace
}  // namespace spyre::lazy
