// spyre/device_sim/card_test.cpp — what a card promises: order, cores, hazards, threads.
#include "spyre/device_sim/card.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "spyre/base/error.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

TEST(Card, MovesAndComputes) {
  Card card(small_spec());
  const Piece piece = card.allocate(4000_B).place;
  std::vector<int> numbers(1000), result(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  card.enqueue(kDefault, upload(numbers, piece), Urgency::Waited);
  card.enqueue(kDefault,
               compute_once(
                   [&] {
                     int* data = reinterpret_cast<int*>(card.address(piece));
                     for (int i = 0; i < 1000; ++i) data[i] *= 2;
                   },
                   {{piece}, {piece}}),
               Urgency::Waited);
  run(card, kDefault, download(piece, result));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(result[i], 2 * i);
  EXPECT_EQ(card.counters().bytes_h2d, 4000U);
  EXPECT_EQ(card.counters().bytes_d2h, 4000U);
  EXPECT_EQ(card.counters().computes, 1U);
}

TEST(Card, TransfersWithoutAHostSideArePricedAndMoveNothing) {
  Card card(small_spec());
  const Piece piece = card.allocate(4_KiB).place;
  std::memset(card.address(piece), 7, 4096);
  card.enqueue({}, {.what = HostToDevice{nullptr, piece, nullptr}}, Urgency::Waited);
  const TimelinePoint end =
      card.enqueue({}, {.what = DeviceToHost{piece, nullptr, nullptr}}, Urgency::Waited);
  card.synchronize(end);
  EXPECT_EQ(*card.address(piece), std::byte{7});
  EXPECT_EQ(card.counters().bytes_h2d, 4096U);
  EXPECT_EQ(card.counters().bytes_d2h, 4096U);
  EXPECT_GE(card.counters().modelled_picoseconds,
            card.spec().h2d_setup_ps + card.spec().d2h_setup_ps);
}

TEST(Card, LargeTransfersArriveWhole) {
  Card card(small_spec());
  const Piece piece = card.allocate(24_MiB).place;
  std::vector<std::uint64_t> numbers((24 << 20) / 8 - 3), result(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 1);
  card.enqueue(kDefault, upload(numbers, piece), Urgency::Waited);
  run(card, kDefault, download(piece, result));
  EXPECT_EQ(result, numbers);
}

class CoreCounts : public testing::TestWithParam<int> {};

TEST_P(CoreCounts, EveryItemRunsOnceWhateverTheSplit) {
  Card card(small_spec(GetParam(), 3));
  std::vector<std::atomic<int>> runs(1001);
  run(card, kDefault,
      compute(
          1001,
          [&](std::int64_t first, std::int64_t last, Core& core) {
            EXPECT_LT(core.id.value, GetParam());
            EXPECT_GE(core.scratchpad.size(), (2_MiB).count);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(core.scratchpad.data()) % 64, 0U);
            for (std::int64_t i = first; i < last; ++i)
              runs[static_cast<std::size_t>(i)].fetch_add(1);
          },
          kLargeWork));
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count.load(), 1);
}

TEST_P(CoreCounts, SlicesNeverShareAScratchpad) {
  Card card(small_spec(GetParam(), 4));
  std::atomic<int> clashes = 0;
  run(card, kDefault,
      compute(
          64,
          [&](std::int64_t first, std::int64_t, Core& core) {
            auto* mark = reinterpret_cast<std::int64_t*>(core.scratchpad.data());
            *mark = first;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            if (*mark != first) ++clashes;
          },
          kLargeWork));
  EXPECT_EQ(clashes.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Cores, CoreCounts, testing::Values(1, 7, 32));

TEST(Card, TinyWorkRunsInlineInOneCall) {
  Card card(small_spec());
  int calls = 0;
  const std::thread::id self = std::this_thread::get_id();
  run(card, kDefault,
      compute(100,
              [&](std::int64_t first, std::int64_t last, Core&) {
                ++calls;
                EXPECT_EQ(first, 0);
                EXPECT_EQ(last, 100);
                EXPECT_EQ(std::this_thread::get_id(), self);
              },
              {.bytes_read = 1024, .bytes_written = 1024}));
  EXPECT_EQ(calls, 1);
}

TEST(Card, ProgramsSeeTheDefaultFloatMode) {
  Card card(small_spec());
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  std::atomic<unsigned> seen = 0;
  const auto look = [&](std::int64_t, std::int64_t, Core&) { seen |= _mm_getcsr() & 0xE040U; };
  run(card, kDefault, compute(1, look));
  run(card, kDefault, compute(64, look, kLargeWork));
  EXPECT_EQ(seen.load(), 0U);
  EXPECT_EQ(_mm_getcsr() & 0x8040U, 0x8040U) << "the caller's mode is its own";
  _mm_setcsr(before);
}

TEST(Card, BackgroundWorkRunsUnattended) {
  Card card(small_spec());
  std::atomic<bool> done = false;
  const TimelinePoint point =
      card.enqueue(kDefault, compute_once([&] { done = true; }), Urgency::Background);
  while (!card.reached(point)) std::this_thread::yield();
  EXPECT_TRUE(done);
}

TEST(Card, PollingGetsThereEvenIfNobodyWaits) {
  Card card(small_spec());
  const StreamId other = card.create_stream();
  const TimelinePoint first = card.enqueue(kDefault, callback([] {}), Urgency::Waited);
  card.wait_for(other, first);
  const TimelinePoint point = card.last_point(other);
  while (!card.reached(point)) std::this_thread::yield();
  EXPECT_TRUE(card.reached(first));
}

TEST(Card, StreamsAreFifoAcrossPipelines) {
  Card card(small_spec());
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    auto note = [&order, i] { order.push_back(i); };
    card.enqueue(kDefault, i % 2 == 0 ? callback(note) : compute_once(note),
                 i % 3 == 0 ? Urgency::Background : Urgency::Waited);
  }
  card.synchronize_all();
  std::vector<int> expected(50);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(Card, WaitForOrdersStreams) {
  for (int repetition = 0; repetition < 50; ++repetition) {
    Card card(small_spec());
    const StreamId producer = card.create_stream(), consumer = card.create_stream();
    std::atomic<int> value = 0;
    const TimelinePoint produced = card.enqueue(producer, callback([&] {
                                                  std::this_thread::yield();
                                                  value = 42;
                                                }),
                                                Urgency::Background);
    card.wait_for(consumer, produced);
    int seen = 0;
    run(card, consumer, callback([&] { seen = value; }));
    EXPECT_EQ(seen, 42);
  }
}

TEST(Card, UnsubmittedPointsAreRejected) {
  Card card(small_spec());
  EXPECT_THROW(card.synchronize({.stream = kDefault, .sequence = 1}), InvalidArgument);
  EXPECT_THROW(card.wait_for(kDefault, {.stream = StreamId{7}, .sequence = 1}), InvalidArgument);
  EXPECT_THROW(card.enqueue(StreamId{7}, callback([] {}), Urgency::Waited), InvalidArgument);
  EXPECT_TRUE(card.reached({}));
}

// Hazards: streams that do not wait for one another, and yet nobody sees torn data.

TEST(Card, UploadWaitsForThePendingReader) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    Card card(small_spec());
    const StreamId other = card.create_stream();
    const Piece piece = card.allocate(4_KiB).place;
    const std::vector<int> ones(1000, 1), twos(1000, 2);
    run(card, kDefault, upload(ones, piece));
    int sum = 0;
    card.enqueue(kDefault,
                 compute_once(
                     [&] {
                       std::this_thread::sleep_for(std::chrono::milliseconds(1));
                       const int* data = reinterpret_cast<const int*>(card.address(piece));
                       sum = std::accumulate(data, data + 1000, 0);
                     },
                     {{piece}, {}}),
                 Urgency::Background);
    run(card, other, upload(twos, piece));
    card.synchronize_all();
    EXPECT_EQ(sum, 1000);
  }
}

TEST(Card, ReadersWaitForThePendingUpload) {
  Card card(small_spec());
  const StreamId other = card.create_stream();
  const Piece piece = card.allocate(4_KiB).place;
  const std::vector<int> ones(1000, 1);
  card.enqueue(kDefault,
               callback([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }),
               Urgency::Background);
  card.enqueue(kDefault, upload(ones, piece), Urgency::Background);
  std::vector<int> result(1000);
  run(card, other, download(piece, result));
  EXPECT_EQ(result, ones);
}

TEST(Card, DisjointRangesDoNotWait) {
  Card card(small_spec());
  const StreamId other = card.create_stream();
  const Piece mine = card.allocate(4_KiB).place, theirs = card.allocate(4_KiB).place;
  std::atomic<bool> release = false;
  const TimelinePoint blocked = card.enqueue(kDefault,
                                             compute_once(
                                                 [&] {
                                                   while (!release) std::this_thread::yield();
                                                 },
                                                 {{mine}, {mine}}),
                                             Urgency::Background);
  const std::vector<int> ones(1000, 1);
  run(card, other, upload(ones, theirs));  // returns while the compute operation is stuck
  EXPECT_FALSE(card.reached(blocked));
  release = true;
  card.synchronize(blocked);
}

// Threads.

TEST(Card, EightThreadsShareOneCard) {
  Card card(small_spec());
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&card, &wrong, t] {
      const StreamId stream = card.create_stream();
      for (int i = 0; i < 200; ++i) {
        const Allocation memory =
            card.allocate(Bytes{static_cast<std::uint64_t>(64 + 997 * ((t * 200 + i) % 13))});
        const Piece piece = memory.place;
        std::vector<int> value{t * 1000 + i}, result(1);
        card.enqueue(stream, upload(value, piece),
                     i % 2 == 0 ? Urgency::Background : Urgency::Waited);
        card.enqueue(
            stream,
            compute_once([&card, piece] { ++*reinterpret_cast<int*>(card.address(piece)); },
                         {{piece}, {piece}}),
            i % 3 == 0 ? Urgency::Background : Urgency::Waited);
        run(card, stream, download(piece, result));
        if (result[0] != value[0] + 1) ++wrong;
        card.free(memory);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(card.memory_stats().allocated, 0_B);
}

TEST(Card, DestructionDrainsTheQueues) {
  std::atomic<int> ran = 0;
  {
    Card card(small_spec());
    for (int i = 0; i < 100; ++i)
      card.enqueue(kDefault, callback([&] { ++ran; }),
                   i % 2 == 0 ? Urgency::Background : Urgency::Waited);
  }
  EXPECT_EQ(ran.load(), 100);
}

TEST(Card, AForkedChildEndsWithoutTheThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not run threads of forked children";
#endif
  auto card = std::make_unique<Card>(small_spec());
  std::atomic<bool> release = false;
  card->enqueue(kDefault, callback([&] {
                  while (!release) std::this_thread::yield();
                }),
                Urgency::Background);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    card.reset();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  release = true;
  EXPECT_EQ(status, 0) << "the child must not hang in the card's destructor";
}

}  // namespace
}  // namespace spyre::device_sim
