// spyre/device_sim/stream_test.cpp — ids, barriers, events that fail, states.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "spyre/base/error.h"
#include "spyre/device_sim/card.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

DeviceSpec free_host() {
  DeviceSpec spec = small_spec();
  spec.host_launch_ps = spec.host_enqueue_ps = spec.submit_latency_ps = spec.host_sync_ps = 0;
  return spec;
}

Operation without_barrier(Operation operation) {
  operation.barrier = false;
  return operation;
}

Operation kernel(Footprint footprint = {}) {
  return compute(1, [](auto, auto, Core&) {}, kLargeWork, std::move(footprint));
}

TEST(Stream, IdsTellThePool) {
  Card card(small_spec());
  EXPECT_EQ(card.create_stream(), StreamId{1});
  EXPECT_EQ(card.create_stream(-1), StreamId{33});
  EXPECT_EQ(card.create_stream(-5), StreamId{34});
  EXPECT_EQ(card.create_stream(1), StreamId{2});
  EXPECT_EQ(card.host_stream(0), StreamId{65});
  EXPECT_EQ(card.host_stream(7), StreamId{72});
  EXPECT_EQ(card.host_stream(0), StreamId{65});
  EXPECT_THROW(card.host_stream(8), InvalidArgument);
  for (int i = 3; i <= 32; ++i) card.create_stream();
  EXPECT_EQ(card.create_stream(), StreamId{73}) << "the pool is used up";
  EXPECT_EQ(card.create_stream(), StreamId{74});
  EXPECT_EQ(card.create_stream(-1), StreamId{35});
  EXPECT_THROW(card.enqueue({40}, callback([] {}), Urgency::Waited), InvalidArgument);
}

TEST(Stream, WorkersTakeHighPriorityFirst) {
  Card card(small_spec());
  const StreamId normal = card.create_stream(), high = card.create_stream(-1);
  std::atomic<bool> go = false;
  std::vector<int> order;
  // All callbacks but one of the pool wait; the last one takes what is queued, one by one.
  for (std::uint32_t i = 0; i < 4; ++i)
    card.enqueue(card.host_stream(i), callback([&] {
                   while (!go) std::this_thread::yield();
                 }),
                 Urgency::Background);
  const Piece piece = card.allocate(1_KiB).place;
  const auto note = [&](int number) {
    Operation operation = callback([&, number] { order.push_back(number); });
    operation.footprint.writes = {piece};  // one at a time
    return operation;
  };
  while (card.stream_state(card.host_stream(3)) != StreamState::Busy) std::this_thread::yield();
  card.enqueue(high, note(1), Urgency::Background);
  card.enqueue(normal, note(2), Urgency::Background);
  go = true;
  card.synchronize_all();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Stream, WithoutABarrierACopyRunsBesideTheKernelInFront) {
  Card card(free_host());
  const Allocation memory = card.allocate(4_MiB);
  std::vector<int> numbers(1 << 20);
  std::atomic<int> met = 0;
  Operation waiting = compute_once([&] {
    while (met == 0) std::this_thread::yield();
  });
  waiting.work = kLargeWork;
  card.enqueue(kDefault, std::move(waiting), Urgency::Background);
  const TimelinePoint early =
      card.enqueue(kDefault, without_barrier(callback([&] { ++met; })), Urgency::Background);
  const TimelinePoint copied =
      card.enqueue(kDefault, without_barrier(upload(numbers, memory.place)), Urgency::Waited);
  card.synchronize(copied);
  EXPECT_EQ(met, 1) << "else the kernel would wait for ever";
  EXPECT_EQ(early.modelled_ps, card.modelled_time(copied))
      << "a point is reached when all before it is: the kernel is longer than both";
}

TEST(Stream, ABarrierWaitsForThoseThatOvertook) {
  Card card(small_spec());
  std::atomic<bool> done = false;
  card.enqueue(kDefault, kernel(), Urgency::Waited);
  card.enqueue(kDefault, without_barrier(callback([&] { done = true; })), Urgency::Waited);
  bool seen = false;
  run(card, kDefault, compute_once([&] { seen = done; }));
  EXPECT_TRUE(seen);
}

TEST(Stream, MemoryHoldsBackWhatHasNoBarrier) {
  Card card(small_spec());
  const Piece piece = card.allocate(64_B).place;
  std::atomic<bool> written = false;
  Operation writer = compute_once(
      [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        written = true;
      },
      {{}, {piece}});
  bool seen = false;
  Operation reader = callback([&] { seen = written; });
  reader.footprint.reads = {piece};
  card.enqueue(kDefault, std::move(writer), Urgency::Background);
  card.enqueue(kDefault, without_barrier(std::move(reader)), Urgency::Background);
  card.synchronize_all();
  EXPECT_TRUE(seen);
}

TEST(Stream, NothingOvertakesAJoin) {
  Card card(free_host());
  const StreamId other = card.create_stream();
  std::atomic<bool> done = false;
  const TimelinePoint slow =
      card.enqueue(other, callback([&] {
                     std::this_thread::sleep_for(std::chrono::milliseconds(20));
                     done = true;
                   }),
                   Urgency::Background);
  card.wait_for(kDefault, slow);
  bool seen = false;
  const TimelinePoint point =
      card.enqueue(kDefault, without_barrier(callback([&] { seen = done; })), Urgency::Waited);
  card.synchronize(point);
  EXPECT_TRUE(seen);
  EXPECT_GE(point.modelled_ps, slow.modelled_ps + card.spec().host_callback_ps);
}

TEST(Stream, AnOperationWaitsForThePointsItNames) {
  Card card(free_host());
  const StreamId other = card.create_stream();
  const TimelinePoint first = card.enqueue(kDefault, kernel(), Urgency::Waited);
  Operation late = without_barrier(callback([] {}));
  late.after = {first};
  EXPECT_EQ(card.enqueue(other, std::move(late), Urgency::Waited).modelled_ps,
            first.modelled_ps + card.spec().host_callback_ps);
  Operation never = callback([] {});
  never.after = {{.stream = kDefault, .sequence = 99}};
  EXPECT_THROW(card.enqueue(other, std::move(never), Urgency::Waited), InvalidArgument);
  card.synchronize_all();
}

TEST(Stream, AFailedEventPoisonsWhoWaits) {
  Card card(small_spec());
  const StreamId other = card.create_stream(), third = card.create_stream();
  const TimelinePoint good = card.enqueue(kDefault, callback([] {}), Urgency::Waited);
  const TimelinePoint bad =
      card.enqueue(kDefault, callback([] { throw DeviceFault("broken"); }), Urgency::Waited);
  card.wait_for(other, bad);
  card.wait_for(third, good);
  bool other_ran = false, third_ran = false;
  card.enqueue(other, callback([&] { other_ran = true; }), Urgency::Waited);
  card.enqueue(third, callback([&] { third_ran = true; }), Urgency::Waited);
  card.synchronize_all();
  EXPECT_FALSE(other_ran);
  EXPECT_TRUE(third_ran) << "its event is older than the fault";
  EXPECT_TRUE(card.any_fault());
  EXPECT_EQ(card.stream_state(other), StreamState::Faulted);
  EXPECT_EQ(card.stream_state(third), StreamState::Idle);
  EXPECT_TRUE(card.take_fault(other));
  EXPECT_TRUE(card.take_fault(kDefault));
  EXPECT_FALSE(card.any_fault());
}

/// Random operations on random streams, some without a barrier. One with a barrier sees all before
/// it on its stream finished; later ones may have overtaken it.
void run_random_program(unsigned seed, Urgency urgency) {
  std::mt19937 random(seed);
  constexpr std::size_t kSteps = 200;
  std::array<std::vector<std::size_t>, 3> on_stream;
  std::array<std::atomic<bool>, kSteps> finished{};
  std::atomic<int> wrong = 0;
  Card card(small_spec());
  const std::array streams{kDefault, card.create_stream(), card.create_stream(-1)};
  for (std::size_t i = 0; i < kSteps; ++i) {
    const std::size_t s = random() % 3;
    if (random() % 6 == 0) card.wait_for(streams[s], card.last_point(streams[random() % 3]));
    const bool barrier = random() % 2 == 0;
    const auto body = [&, i, earlier = barrier ? on_stream[s] : std::vector<std::size_t>()] {
      for (const std::size_t before : earlier) wrong += finished[before] ? 0 : 1;
      finished[i] = true;
    };
    on_stream[s].push_back(i);
    Operation operation = random() % 2 == 0 ? compute_once(body) : callback(body);
    operation.barrier = barrier;
    card.enqueue(streams[s], std::move(operation), urgency);
  }
  card.synchronize_all();
  EXPECT_EQ(wrong, 0);
  for (const std::atomic<bool>& one : finished) EXPECT_TRUE(one);
}

TEST(Stream, BarriersHoldInRandomPrograms) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    run_random_program(seed, Urgency::Waited);
    run_random_program(seed, Urgency::Background);
  }
}

}  // namespace
}  // namespace spyre::device_sim
