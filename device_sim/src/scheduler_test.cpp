// spyre/device_sim/scheduler_test.cpp — who runs what: waiters, workers, nobody else.
#include "scheduler.h"

#include <gtest/gtest.h>

#include "spyre/base/error.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

void run_callback(const Operation& operation) {
  if (const auto* callback = std::get_if<HostCallback>(&operation.what)) callback->function();
}

class SchedulerTest : public testing::Test {
 protected:
  DeviceSpec spec_ = small_spec();
  Scheduler scheduler_{spec_, run_callback};
};

TEST_F(SchedulerTest, WaitersHelpAndNoWorkerStarts) {
  std::thread::id runner;
  const auto note = [&] { runner = std::this_thread::get_id(); };
  const StreamId other = scheduler_.create_stream();
  const TimelinePoint first = scheduler_.submit(other, callback([] {}), Urgency::Waited);
  scheduler_.join(kDefault, first);
  scheduler_.synchronize(scheduler_.submit(kDefault, callback(note), Urgency::Waited));
  EXPECT_EQ(runner, std::this_thread::get_id());
  EXPECT_EQ(scheduler_.worker_count(), 0U);
}

TEST_F(SchedulerTest, WaitersRunOnlyWhatTheyNeed) {
  const StreamId other = scheduler_.create_stream();
  bool ran = false;
  const TimelinePoint unrelated =
      scheduler_.submit(other, callback([&] { ran = true; }), Urgency::Waited);
  scheduler_.synchronize(scheduler_.submit(kDefault, callback([] {}), Urgency::Waited));
  EXPECT_FALSE(ran);
  scheduler_.synchronize(unrelated);
  EXPECT_TRUE(ran);
}

TEST_F(SchedulerTest, ABurstOnOneStreamNeedsOneWorker) {
  std::atomic<int> ran = 0;
  for (int i = 0; i < 200; ++i)
    scheduler_.submit(kDefault, callback([&] { ++ran; }), Urgency::Background);
  while (ran < 200) std::this_thread::yield();
  EXPECT_EQ(scheduler_.worker_count(), 1U);
}

TEST_F(SchedulerTest, IndependentStreamsRunAtOnce) {
  const StreamId other = scheduler_.create_stream();
  std::atomic<int> met = 0;
  const auto meet = [&] {
    ++met;
    while (met < 2) std::this_thread::yield();
  };
  scheduler_.submit(kDefault, callback(meet), Urgency::Background);
  scheduler_.submit(other, callback(meet), Urgency::Background);
  scheduler_.synchronize_all();
  EXPECT_EQ(met, 2);
}

TEST_F(SchedulerTest, BackgroundRunsTheWaitedOnesInFrontOfIt) {
  std::atomic<int> ran = 0;
  scheduler_.submit(kDefault, callback([&] { ++ran; }), Urgency::Waited);
  scheduler_.submit(kDefault, callback([&] { ++ran; }), Urgency::Background);
  while (ran < 2) std::this_thread::yield();
}

TEST_F(SchedulerTest, RemainingBackgroundWorkOutlivesTheWaiter) {
  std::atomic<int> ran = 0;
  TimelinePoint middle;
  for (int i = 0; i < 100; ++i) {
    const TimelinePoint point =
        scheduler_.submit(kDefault, callback([&] { ++ran; }), Urgency::Background);
    if (i == 50) middle = point;
  }
  scheduler_.synchronize(middle);
  while (ran < 100) std::this_thread::yield();
}

TEST_F(SchedulerTest, AWaiterIsWokenAtItsPointThoughTheOtherThreadGoesOn) {
  std::atomic<bool> begun = false, go_on = false, release = false;
  const TimelinePoint first = scheduler_.submit(kDefault, callback([&] {
                                                  begun = true;
                                                  while (!go_on) std::this_thread::yield();
                                                }),
                                                Urgency::Background);
  scheduler_.submit(kDefault, callback([&] {
                      while (!release) std::this_thread::yield();
                    }),
                    Urgency::Background);
  while (!begun) std::this_thread::yield();
  std::atomic<pid_t> waiting = 0;
  std::thread waiter([&] {
    waiting = this_thread_id();
    scheduler_.synchronize(first);
    release = true;
  });
  while (waiting == 0) std::this_thread::yield();
  wait_until_asleep(waiting);
  go_on = true;
  waiter.join();
  scheduler_.synchronize_all();
}

TEST_F(SchedulerTest, AWaiterIsWokenForWhatTheOtherThreadLeavesToIt) {
  std::atomic<bool> begun = false, go_on = false;
  const TimelinePoint before = scheduler_.submit(scheduler_.create_stream(), callback([&] {
                                                   begun = true;
                                                   while (!go_on) std::this_thread::yield();
                                                 }),
                                                 Urgency::Background);
  while (!begun) std::this_thread::yield();
  scheduler_.join(kDefault, before);
  std::thread::id runner;
  const TimelinePoint mine = scheduler_.submit(
      kDefault, callback([&] { runner = std::this_thread::get_id(); }), Urgency::Waited);
  std::atomic<pid_t> waiting = 0;
  std::thread waiter([&] {
    waiting = this_thread_id();
    scheduler_.synchronize(mine);
  });
  const std::thread::id expected = waiter.get_id();
  while (waiting == 0) std::this_thread::yield();
  wait_until_asleep(waiting);
  go_on = true;
  waiter.join();
  EXPECT_EQ(runner, expected);
}

TEST_F(SchedulerTest, ManyBlockedCallbacksLeaveWorkersForThePipelines) {
  std::atomic<bool> release = false;
  for (int i = 0; i < 10; ++i) {
    scheduler_.submit(scheduler_.create_stream(), callback([&] {
                        while (!release) std::this_thread::yield();
                      }),
                      Urgency::Background);
  }
  const StreamId other = scheduler_.create_stream();
  const TimelinePoint copied =
      scheduler_.submit(other, {.what = DeviceToHost{}, .name = "download"}, Urgency::Background);
  while (!scheduler_.reached(copied)) std::this_thread::yield();
  release = true;
  scheduler_.synchronize_all();
}

}  // namespace
}  // namespace spyre::device_sim
