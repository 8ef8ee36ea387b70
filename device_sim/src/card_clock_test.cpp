// spyre/device_sim/card_clock_test.cpp — modelled time depends on the program alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>

#include "price.h"
#include "spyre/base/error.h"
#include "spyre/device_sim/card.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

std::uint64_t modelled_end(bool two_streams, bool joined) {
  DeviceSpec spec = small_spec();
  spec.host_launch_ps = spec.host_enqueue_ps = spec.submit_latency_ps = 0;
  Card card(spec);
  const StreamId other = two_streams ? card.create_stream() : kDefault;
  const Piece piece = card.allocate(4_MiB).place;
  const std::vector<int> numbers(1 << 20);
  const TimelinePoint copied = card.enqueue(kDefault, upload(numbers, piece), Urgency::Waited);
  if (joined) card.wait_for(other, copied);
  const TimelinePoint computed =
      card.enqueue(other, compute(1, [](auto, auto, Core&) {}, kLargeWork), Urgency::Waited);
  card.synchronize_all();
  EXPECT_EQ(card.counters().modelled_picoseconds,
            std::max(copied.modelled_ps, computed.modelled_ps));
  return card.modelled_time(computed);
}

TEST(Card, ModelledStreamsOverlapUnlessJoined) {
  const DeviceSpec spec;
  const std::uint64_t copy = price({.what = HostToDevice{.target = {.length = 4_MiB}}}, spec).count;
  const std::uint64_t kernel = compute_price(kLargeWork, spec).count;
  EXPECT_EQ(modelled_end(false, false), copy + kernel);
  EXPECT_EQ(modelled_end(true, false), kernel) << "the maximum: the copy is shorter";
  EXPECT_EQ(modelled_end(true, true), copy + kernel);
}

/// A program with streams, joins and waits, run with some urgency and number of threads; its
/// modelled timeline.
std::string modelled_timeline(Urgency urgency, int host_threads, int busy_microseconds) {
  Card card(small_spec(32, host_threads));
  card.record_timeline(true);
  const StreamId other = card.create_stream();
  const Piece piece = card.allocate(1_MiB).place;
  std::vector<int> numbers(1 << 18);
  for (int i = 0; i < 30; ++i) {
    const TimelinePoint copied = card.enqueue(other, upload(numbers, piece), urgency);
    card.wait_for(kDefault, copied);
    card.enqueue(
        kDefault,
        compute(64,
                [&](auto, auto, Core&) {
                  std::this_thread::sleep_for(std::chrono::microseconds(busy_microseconds));
                },
                kLargeWork, {{piece}, {}}),
        urgency);
    if (i % 7 == 0) card.synchronize(card.enqueue(other, download(piece, numbers), urgency));
  }
  card.synchronize_all();
  const std::string json = card.timeline_json();
  return json.substr(0, json.find("{\"ph\":\"M\",\"pid\":2"));
}

TEST(Card, ModelledTimelineIsByteIdentical) {
  const std::string first = modelled_timeline(Urgency::Waited, 1, 0);
  EXPECT_GT(first.size(), 10'000U);
  for (int repetition = 0; repetition < 5; ++repetition) {
    EXPECT_EQ(modelled_timeline(Urgency::Background, 2, 20 * repetition), first);
  }
  EXPECT_EQ(modelled_timeline(Urgency::Waited, 4, 10), first);
}

TEST(Card, DrainingDoesNotMoveTheModelledHost) {
  const auto second_end = [](bool drain) {
    Card card(small_spec());
    const auto kernel = [] { return compute(1, [](auto, auto, Core&) {}, kLargeWork); };
    card.enqueue(kDefault, kernel(), Urgency::Waited);
    if (drain) {
      card.drain(card.last_point(kDefault));
      card.drain_all();
    }
    return card.modelled_time(card.enqueue(kDefault, kernel(), Urgency::Waited));
  };
  EXPECT_EQ(second_end(true), second_end(false));
}

TEST(Card, WithoutAClockWorkIsDoneAndCountedAndNoTimeIsTold) {
  DeviceSpec spec = small_spec();
  spec.clock = "off";
  Card card(spec);
  EXPECT_FALSE(card.models_time());
  const Piece piece = card.allocate(1_MiB).place;
  const std::vector<int> sent(1 << 18, 7);
  std::vector<int> received(1 << 18);
  const StreamId other = card.create_stream();
  card.wait_for(other, card.enqueue(kDefault, upload(sent, piece), Urgency::Background));
  const TimelinePoint last = card.enqueue(other, download(piece, received), Urgency::Waited);
  card.synchronize(last);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(card.counters().transfers, 2U);
  EXPECT_EQ(card.counters().modelled_picoseconds, 0U);
  EXPECT_THROW(card.modelled_time(last), InvalidArgument);
  EXPECT_THROW(card.record_timeline(true), InvalidArgument);
  EXPECT_THROW(card.timeline_json(), InvalidArgument);
  EXPECT_THROW(card.report_json(), InvalidArgument);
  EXPECT_THROW(card.record_activities([] { return 0U; }), InvalidArgument);
  card.record_timeline(false);
}

TEST(Card, ArrivalsAreNotedInTheOrderOfTheStream) {
  Card card(small_spec());
  std::latch held(1);
  const TimelinePoint first =
      card.enqueue(kDefault, compute_once([&] { held.wait(); }), Urgency::Background);
  const TimelinePoint second = card.enqueue(kDefault, compute_once([] {}), Urgency::Background);
  const auto one = card.watch(first), two = card.watch(second);
  card.watch(second);  // nobody holds it
  EXPECT_FALSE(one->when() || two->when()) << "the first one is held";
  held.count_down();
  card.synchronize(second);
  ASSERT_TRUE(one->when() && two->when());
  EXPECT_LE(*one->when(), *two->when());
  const auto late = card.watch(first);
  ASSERT_TRUE(late->when()) << "reached before it was asked for";
  EXPECT_GE(*late->when(), *two->when());
}

TEST(Card, ArrivalsOfOneStreamDoNotWaitForAnother) {
  Card card(small_spec());
  const StreamId other = card.create_stream();
  const auto submit = [&](StreamId stream) {
    return card.enqueue(stream, {.what = HostCallback{[] {}}}, Urgency::Waited);
  };
  const TimelinePoint first = submit(kDefault), second = submit(kDefault), apart = submit(other);
  const auto late = card.watch(second), early = card.watch(first), elsewhere = card.watch(apart);
  card.synchronize(first);
  EXPECT_TRUE(early->when());
  EXPECT_FALSE(late->when() || elsewhere->when());
  card.synchronize(apart);
  EXPECT_TRUE(elsewhere->when());
  EXPECT_FALSE(late->when());
  card.synchronize(second);
  EXPECT_TRUE(late->when());
}

TEST(Card, CountersRestartAtReset) {
  Card card(small_spec());
  run(card, kDefault, compute(1, [](auto, auto, Core&) {}, kLargeWork));
  EXPECT_GT(card.counters().modelled_picoseconds, 0U);
  card.reset_counters();
  EXPECT_EQ(card.counters().modelled_picoseconds, 0U);
  EXPECT_EQ(card.counters().computes, 0U);
}

}  // namespace
}  // namespace spyre::device_sim
