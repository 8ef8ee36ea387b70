// spyre/device_sim/activity_log_test.cpp — activities say what ran, when, and who asked; off is off.
#include "activity_log.h"

#include <gtest/gtest.h>

#include "test_programs.h"

namespace spyre::device_sim {
namespace {

using Kind = Activity::Kind;

std::vector<Kind> kinds(const ActivityRecord& record) {
  std::vector<Kind> kinds;
  for (const Activity& activity : record.activities) kinds.push_back(activity.kind);
  return kinds;
}

TEST(ActivityLog, TellsKindsCallersAndSources) {
  Card card(small_spec());
  const Piece piece = card.allocate(4_KiB).place;
  std::vector<int> numbers(1000);
  card.record_activities([] { return 7U; });
  card.enqueue({}, upload(numbers, piece), Urgency::Waited);
  Operation kernel = compute_once([] {});
  kernel.source = 3;
  kernel.correlation = 5;
  card.enqueue({}, std::move(kernel), Urgency::Waited);
  Operation fill = callback([] {});
  std::get<HostCallback>(fill.what).fills = true;
  card.enqueue({}, std::move(fill), Urgency::Waited);
  card.synchronize(card.enqueue({}, callback([] {}), Urgency::Waited));

  const ActivityRecord record = card.take_activities();
  EXPECT_EQ(kinds(record), (std::vector{Kind::HostToDevice, Kind::Kernel, Kind::Fill,
                                        Kind::Callback, Kind::Wait}));
  EXPECT_EQ(record.activities[0].bytes, 4000U);
  EXPECT_EQ(record.activities[1].source, 3U);
  EXPECT_EQ(record.activities[1].correlation, 5U);
  for (const Activity& activity : record.activities) {
    EXPECT_EQ(activity.caller, 7U);
    EXPECT_GE(activity.called, record.begin);
    EXPECT_GE(activity.returned, activity.called);
    EXPECT_GE(activity.end_ps, activity.start_ps);
  }
}

TEST(ActivityLog, CountsTheStepsOfALaunch) {
  Card card(small_spec());
  card.record_activities({});
  for (const std::uint64_t launch : {1, 1, 1, 2, 2}) {
    Operation kernel = compute_once([] {});
    kernel.correlation = launch;
    card.enqueue({}, std::move(kernel), Urgency::Waited);
  }
  card.drain_all();
  std::vector<std::uint32_t> steps;
  for (const Activity& activity : card.take_activities().activities) steps.push_back(activity.step);
  EXPECT_EQ(steps, (std::vector<std::uint32_t>{0, 1, 2, 0, 1}));
}

TEST(ActivityLog, TakesTheModelledTimesOfTheClock) {
  Card card(small_spec());
  card.enqueue({}, compute({}, {}, kLargeWork), Urgency::Waited);
  card.synchronize_all();
  card.record_activities({});
  const TimelinePoint point = card.enqueue({}, compute_once([] {}), Urgency::Waited);
  const ActivityRecord record = card.take_activities();
  EXPECT_GT(record.begin_ps, 0U);
  EXPECT_GE(record.activities[0].queued_ps, record.begin_ps);
  EXPECT_EQ(record.activities[0].end_ps, card.modelled_time(point));
  card.drain_all();
}

TEST(ActivityLog, OffRecordsNothing) {
  Card card(small_spec());
  card.record_activities({});
  card.take_activities();
  card.enqueue({}, compute_once([] {}), Urgency::Waited);
  card.synchronize_all();
  EXPECT_TRUE(card.take_activities().activities.empty());
}

TEST(ActivityLog, KeepsTheLatestAndCountsTheRest) {
  ActivityLog log;
  log.begin({}, {});
  Flight flight;
  flight.operation.what = HostCallback{};
  flight.pipeline = PipelineId::Callback;
  for (std::size_t i = 0; i < ActivityLog::kActivities + 5; ++i) {
    flight.operation.correlation = i;
    log.add(flight, log.begin_call().ended());
  }
  const ActivityRecord record = log.take();
  EXPECT_EQ(record.dropped, 5U);
  EXPECT_EQ(record.activities.size(), ActivityLog::kActivities);
  EXPECT_EQ(record.activities.front().correlation, 5U);
}

}  // namespace
}  // namespace spyre::device_sim
