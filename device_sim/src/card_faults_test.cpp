// spyre/device_sim/card_faults_test.cpp — faults stick and are taken once; deadlocks are named.
#include <gtest/gtest.h>

#include <thread>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/card.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

std::string fault_text(Card& card, StreamId stream) {
  const std::exception_ptr fault = card.take_fault(stream);
  if (!fault) return "none";
  try {
    std::rethrow_exception(fault);
  } catch (const std::exception& error) { return error.what(); }
}

TEST(Card, FirstFaultSticksAndLaterOperationsAreSkipped) {
  Card card(small_spec());
  bool ran = false;
  card.enqueue(kDefault, compute_once([] { throw DeviceFault("index 7 out of range"); }),
               Urgency::Waited);
  card.enqueue(kDefault, compute_once([&] { ran = true; }), Urgency::Waited);
  const TimelinePoint last =
      card.enqueue(kDefault, callback([] { throw DeviceFault("second"); }), Urgency::Waited);
  EXPECT_NO_THROW(card.synchronize(last));
  EXPECT_TRUE(card.reached(last));
  EXPECT_FALSE(ran);
  EXPECT_EQ(fault_text(card, kDefault), "index 7 out of range");
  EXPECT_EQ(fault_text(card, kDefault), "none");
  run(card, kDefault, compute_once([&] { ran = true; }));
  EXPECT_TRUE(ran) << "usable again";
}

TEST(Card, FaultsStayOnTheirStream) {
  Card card(small_spec());
  const StreamId other = card.create_stream();
  run(card, kDefault, compute_once([] { throw DeviceFault("mine"); }));
  bool ran = false;
  run(card, other, compute_once([&] { ran = true; }));
  EXPECT_TRUE(ran);
  EXPECT_EQ(fault_text(card, other), "none");
}

TEST(Card, TheLowestFailingSliceIsReported) {
  Card card(small_spec(32, 4));
  for (int repetition = 0; repetition < 20; ++repetition) {
    run(card, kDefault,
        compute(
            32,
            [](std::int64_t first, std::int64_t, Core&) {
              if (first >= 5) throw DeviceFault(str("slice ", first));
            },
            kLargeWork));
    EXPECT_EQ(fault_text(card, kDefault), "slice 5");
  }
}

TEST(Card, KeepAliveIsReleasedWhenThePointIsReached) {
  Card card(small_spec());
  auto kept = std::make_shared<int>(1);
  Operation operation = compute_once([] { throw DeviceFault("even then"); });
  operation.keep_alive = kept;
  const TimelinePoint point = card.enqueue(kDefault, std::move(operation), Urgency::Waited);
  EXPECT_EQ(kept.use_count(), 2);
  card.synchronize(point);
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(Card, KeepAliveMayCallTheCard) {
  Card card(small_spec());
  const Allocation memory = card.allocate(1_KiB);
  Operation operation = compute_once([] {});
  operation.keep_alive = std::shared_ptr<const void>(nullptr, [&](const void*) {
    card.free(memory);
    card.enqueue(kDefault, callback([] {}), Urgency::Waited);
  });
  run(card, kDefault, std::move(operation));
  EXPECT_EQ(card.memory_stats().live, 0U);
  card.synchronize_all();
}

// Deadlocks.

TEST(Card, ACallbackThatWaitsForItselfIsNamed) {
  for (const Urgency urgency : {Urgency::Waited, Urgency::Background}) {
    Card card(small_spec());
    const TimelinePoint point = card.enqueue(
        kDefault, callback([&] { card.synchronize(card.last_point(kDefault)); }), urgency);
    card.synchronize(point);
    const std::string text = fault_text(card, kDefault);
    EXPECT_NE(text.find("deadlock: operation \"callback\" (stream 0, number 1)"), text.npos)
        << text;
  }
}

TEST(Card, TwoCallbacksThatWaitForEachOtherAreNamed) {
  Card card(small_spec());
  const StreamId a = card.create_stream(), b = card.create_stream();
  std::atomic<int> started = 0;
  const auto wait_for_other = [&](StreamId other) {
    return callback([&, other] {
      ++started;
      while (started < 2) std::this_thread::yield();
      card.synchronize({.stream = other, .sequence = 1});
    });
  };
  card.enqueue(a, wait_for_other(b), Urgency::Background);
  card.enqueue(b, wait_for_other(a), Urgency::Background);
  card.synchronize_all();
  const std::string texts = fault_text(card, a) + fault_text(card, b);
  EXPECT_NE(texts.find("deadlock"), texts.npos) << texts;
}

TEST(Card, ACallbackMayWaitForAnotherStream) {
  Card card(small_spec());
  const StreamId other = card.create_stream();
  bool ran = false;
  run(card, kDefault, callback([&] { run(card, other, compute_once([&] { ran = true; })); }));
  EXPECT_TRUE(ran);
  EXPECT_EQ(fault_text(card, kDefault), "none");
}

}  // namespace
}  // namespace spyre::device_sim
