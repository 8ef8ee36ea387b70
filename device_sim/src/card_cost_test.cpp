// spyre/device_sim/card_cost_test.cpp — prints what the frequent calls cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "spyre/device_sim/card.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

/// Shorter than a time slice each, for others share this machine.
constexpr int kRounds = 50;

/// Nanoseconds per call in the best round.
template <class Call> double cost_ns(const char* what, int calls, Call&& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> spent = Clock::now() - begin;
    best = std::min(best, spent.count() / calls);
  }
  std::cout << "[  COST    ] " << what << ": " << best << " ns\n";
  return best;
}

TEST(CardCost, AllocateAndFreeARecurringSize) {
  Card card(small_spec());
  for (const Bytes size : {256_B, 16_KiB, 4_MiB}) {
    const double ns = cost_ns(size == 256_B    ? "allocate + free 256 B"
                              : size == 16_KiB ? "allocate + free 16 KiB"
                                               : "allocate + free 4 MiB",
                              1'000, [&] { card.free(card.allocate(size)); });
    EXPECT_LT(ns, 200'000);
  }
}

TEST(CardCost, EnqueueAndSynchronizeInline) {
  Card card(small_spec());
  const Piece piece = card.allocate(4_KiB).place;
  const auto program = std::make_shared<LambdaProgram>(1, [](auto, auto, Core&) {});
  const auto kernel = [&] {
    return Operation{
        .what = Compute{program, piece}, .name = "kernel", .footprint = {{piece}, {piece, piece}}};
  };
  EXPECT_LT(cost_ns("build an operation", 1'000, [&] { kernel(); }), 200'000);
  EXPECT_LT(
      cost_ns("enqueue + synchronize, one stream", 1'000,
              [&] { card.synchronize(card.enqueue(StreamId{0}, kernel(), Urgency::Waited)); }),
      200'000);
  EXPECT_LT(cost_ns("16 x enqueue + synchronize, per operation", 100,
                    [&] {
                      for (int i = 0; i < 15; ++i)
                        card.enqueue(StreamId{0}, kernel(), Urgency::Waited);
                      card.synchronize(card.enqueue(StreamId{0}, kernel(), Urgency::Waited));
                    }) /
                16,
            200'000);
}

TEST(CardCost, ParallelLaunch) {
  Card card(small_spec());
  const auto program = std::make_shared<LambdaProgram>(32, [](auto, auto, Core&) {});
  cost_ns("32 slices on threads", 50, [&] {
    card.synchronize(
        card.enqueue(StreamId{0}, {.what = Compute{program}, .work = kLargeWork}, Urgency::Waited));
  });
}

TEST(CardCost, BackgroundRoundTrip) {
  Card card(small_spec());
  cost_ns("enqueue in background, then wait", 50, [&] {
    card.synchronize(card.enqueue(StreamId{0}, callback([] {}), Urgency::Background));
  });
}

}  // namespace
}  // namespace spyre::device_sim
