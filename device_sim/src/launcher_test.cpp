// spyre/device_sim/launcher_test.cpp — four kinds of steps, slots that are never shared, capture.
#include "spyre/device_sim/launcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "spyre/base/error.h"
#include "spyre/device_sim/copies.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

/// *arguments.target += arguments.amount
struct AddArguments {
  std::int64_t* target;
  std::int64_t amount;
};

class AddProgram final : public Program {
 public:
  std::int64_t work_items(std::span<const std::byte>) const override { return 1; }
  void run(std::span<const std::byte> bytes, std::int64_t, std::int64_t, Core&) const override {
    AddArguments arguments{};
    std::memcpy(&arguments, bytes.data(), sizeof arguments);
    *arguments.target += arguments.amount;
  }
};

class LauncherTest : public testing::Test {
 protected:
  static DeviceSpec spec() {
    DeviceSpec spec = small_spec();
    spec.host_launch_ps = spec.host_enqueue_ps = spec.submit_latency_ps = spec.host_sync_ps = 0;
    return spec;
  }

  DevicePlan plan() {
    CorrectStep correct{[this](std::span<std::byte> record, std::span<const Allocation> operands) {
      const AddArguments arguments{
          reinterpret_cast<std::int64_t*>(card_.address(operands[0].place)), ++amount_};
      std::memcpy(record.data(), &arguments, sizeof arguments);
    }};
    ComputeStep compute{.program = std::make_shared<AddProgram>(),
                        .offset = 0_B,
                        .length = {sizeof(AddArguments)},
                        .reads = {},
                        .writes = {0},
                        .work = kLargeWork};
    FetchStep fetch{.operand = 0,
                    .offset = 0_B,
                    .length = 8_B,
                    .target = reinterpret_cast<std::byte*>(&fetched_)};
    return {
        .name = "add",
        .steps = {{"correct", correct}, {"send", SendStep{}}, {"add", compute}, {"fetch", fetch}},
        .record = 64_B,
        .operands = {8_B}};
  }

  Allocation zeroed() {
    Allocation memory = card_.allocate(8_B);
    run(card_, kDefault, fill_memory(card_, memory, 0_B, 8_B, std::byte{0}));
    return memory;
  }

  Card card_{spec()};
  std::atomic<std::int64_t> amount_ = 0;  // callbacks of several launches run at once
  std::int64_t fetched_ = 0;
};

TEST_F(LauncherTest, LaunchesUseTheirOwnArguments) {
  for (const std::size_t depth : {1U, 2U, 5U}) {
    amount_ = 0;
    PlanLauncher launcher(card_, plan(), depth);
    const Allocation memory = zeroed();
    TimelinePoint last;
    for (int i = 0; i < 20; ++i)
      last =
          launcher.launch(kDefault, {memory}, i % 2 == 0 ? Urgency::Waited : Urgency::Background);
    card_.synchronize(last);
    EXPECT_EQ(fetched_, 20 * 21 / 2) << "a record that is written too early loses an amount";
  }
  EXPECT_EQ(card_.memory_stats().program_allocated, 0_B);
}

TEST_F(LauncherTest, ADeeperRingHidesTheCorrection) {
  const auto modelled = [this](std::size_t depth) {
    PlanLauncher launcher(card_, plan(), depth);
    const Allocation memory = zeroed();
    card_.synchronize_all();
    const std::uint64_t begin = card_.last_point(kDefault).modelled_ps;
    TimelinePoint last;
    for (int i = 0; i < 10; ++i) last = launcher.launch(kDefault, {memory}, Urgency::Waited);
    card_.synchronize(last);
    return last.modelled_ps - begin;
  };
  const std::uint64_t correction =
      card_.spec().host_callback_ps + card_.spec().h2d_setup_ps;  // and the record's bytes
  const std::uint64_t one = modelled(1), four = modelled(4);
  EXPECT_GE(one, four + 9 * correction);
  EXPECT_EQ(modelled(4), modelled(8)) << "deep enough is deep enough";
}

TEST_F(LauncherTest, BadOperandsAreNamedAndNothingIsEnqueued) {
  PlanLauncher launcher(card_, plan(), 2);
  const std::uint64_t before = card_.last_point(kDefault).sequence;
  EXPECT_THROW(launcher.launch(kDefault, {}, Urgency::Waited), InvalidArgument);
  try {
    launcher.launch(kDefault, {card_.allocate(4_B)}, Urgency::Waited);
    FAIL() << "must throw";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "add: operand 0 has 4 B; expected at least 8 B");
  }
  EXPECT_EQ(card_.last_point(kDefault).sequence, before);
  EXPECT_EQ(amount_, 0);
}

TEST_F(LauncherTest, PlansThatCannotWorkAreRefused) {
  const auto refused = [this](const auto& change) {
    DevicePlan bad = plan();
    change(bad);
    EXPECT_THROW(PlanLauncher(card_, bad, 2), InvalidArgument);
  };
  refused([](DevicePlan& p) { p.steps.erase(p.steps.begin()); });
  refused([](DevicePlan& p) { p.steps.erase(p.steps.begin() + 1); });
  refused([](DevicePlan& p) { p.record = 8_B; });
  refused([](DevicePlan& p) { std::get<FetchStep>(p.steps[3].what).operand = 1; });
  refused([](DevicePlan& p) { std::get<ComputeStep>(p.steps[2].what).reads = {7}; });
  EXPECT_THROW(PlanLauncher(card_, plan(), 0), InvalidArgument);
}

TEST_F(LauncherTest, AFailedCorrectionIsTheLaunchingStreamsFault) {
  DevicePlan failing = plan();
  std::get<CorrectStep>(failing.steps[0].what).write = [](auto, auto) {
    throw DeviceFault("no such symbol");
  };
  PlanLauncher launcher(card_, failing, 2);
  const Allocation memory = zeroed();
  card_.synchronize(launcher.launch(kDefault, {memory}, Urgency::Background));
  EXPECT_TRUE(card_.take_fault(kDefault));
  EXPECT_EQ(card_.stream_state(card_.host_stream(0)), StreamState::Idle) << "others go on";
  EXPECT_EQ(fetched_, 0);
}

// Capture and replay.

TEST_F(LauncherTest, ASequenceRunsWhenItIsReplayed) {
  int count = 0;
  card_.begin_capture(kDefault);
  for (int i = 0; i < 3; ++i)
    card_.enqueue(kDefault, compute_once([&] { ++count; }), Urgency::Background);
  EXPECT_THROW(card_.begin_capture(kDefault), InvalidArgument);
  EXPECT_THROW(card_.wait_for(kDefault, TimelinePoint{}), InvalidArgument);
  const auto sequence = card_.end_capture(kDefault);
  card_.synchronize_all();
  EXPECT_EQ(count, 0);
  const StreamId other = card_.create_stream();
  card_.synchronize(card_.replay(other, *sequence, Urgency::Waited));
  card_.synchronize(card_.replay(kDefault, *sequence, Urgency::Background));
  EXPECT_EQ(count, 6);
  EXPECT_THROW(card_.end_capture(kDefault), InvalidArgument);
  EXPECT_THROW(card_.begin_capture({50}), InvalidArgument);
}

TEST(Replay, CostsTheHostOneLaunch) {
  Card card(small_spec());
  card.begin_capture(kDefault);
  for (int i = 0; i < 100; ++i) card.enqueue(kDefault, compute_once([] {}), Urgency::Waited);
  const auto sequence = card.end_capture(kDefault);
  const TimelinePoint replayed = card.replay(kDefault, *sequence, Urgency::Waited);
  EXPECT_EQ(replayed.modelled_ps, card.spec().host_launch_ps + card.spec().submit_latency_ps);
  card.synchronize_all();
}

}  // namespace
}  // namespace spyre::device_sim
