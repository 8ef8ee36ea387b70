// spyre/device_sim/card_memory_test.cpp — deferred frees, exhaustion, interleaved copies, churn.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "spyre/base/error.h"
#include "spyre/device_sim/card.h"
#include "spyre/device_sim/copies.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

TEST(CardMemory, DeferredFreesWaitForWhatIsInFlight) {
  Card card(small_spec());
  Allocation memory = card.allocate(1_MiB);
  const Piece piece = memory.place;
  std::atomic<bool> go = false;
  const TimelinePoint point = card.enqueue(kDefault, callback([&] {
                                             while (!go) std::this_thread::yield();
                                           }),
                                           Urgency::Background);
  card.free_after(std::move(memory), {point});
  EXPECT_EQ(card.memory_stats().deferred, 1_MiB);
  EXPECT_EQ(card.memory_stats().allocated, 1_MiB);
  EXPECT_NE(card.allocate(1_MiB).place, piece);
  go = true;
  card.synchronize(point);
  EXPECT_EQ(card.allocate(1_MiB).place, piece) << "an allocation collects them";
  EXPECT_EQ(card.memory_stats().deferred, 0_B);
  EXPECT_THROW(card.free_after(card.allocate(1_B), {{.sequence = 99}}), InvalidArgument);
}

TEST(CardMemory, AFullCardWaitsForDeferredFrees) {
  Card card(small_spec());
  Allocation memory = card.allocate(60_MiB);
  const TimelinePoint point = card.enqueue(kDefault, callback([] {}), Urgency::Waited);
  card.free_after(std::move(memory), {point});
  EXPECT_NO_THROW(card.allocate(50_MiB));
  EXPECT_TRUE(card.reached(point));
  EXPECT_EQ(card.memory_stats().relieved, 1U);
}

TEST(CardMemory, TheExhaustionHandlerHelpsOnce) {
  Card card(small_spec());
  const Allocation memory = card.allocate(60_MiB);
  int calls = 0;
  Bytes requested;
  card.on_exhaustion([&](Bytes size) {
    requested = size;
    if (++calls == 1) card.free(memory);  // no lock of the card is held
    return true;
  });
  EXPECT_NO_THROW(card.allocate(50_MiB));
  EXPECT_EQ(requested, 50_MiB);
  EXPECT_THROW(card.allocate(50_MiB), OutOfDeviceMemory);
  EXPECT_EQ(calls, 2) << "nothing freed: no second try";
  EXPECT_EQ(card.memory_stats().failures, 1U);
  card.on_exhaustion([](Bytes) -> bool { throw DeviceFault("no help"); });
  EXPECT_THROW(card.allocate(50_MiB), DeviceFault);
  card.on_exhaustion({});
  EXPECT_THROW(card.allocate(50_MiB), OutOfDeviceMemory);
}

DeviceSpec spec_with_domains() {
  DeviceSpec spec = small_spec();
  spec.memory_domains = 3;  // a region each
  return spec;
}

std::vector<std::uint8_t> numbered(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}

const std::byte* data(const std::vector<std::uint8_t>& bytes) {
  return reinterpret_cast<const std::byte*>(bytes.data());
}

TEST(CardMemory, CopiesTakeInterleavedAllocations) {
  Card card(spec_with_domains());
  const AllocationRequest interleaved{.size = 5_MiB, .directive = {MemoryPolicy::Interleave}};
  const Allocation a = card.allocate(interleaved), b = card.allocate(5_MiB);
  ASSERT_EQ(a.chunks.size(), 3U);
  const std::vector<std::uint8_t> bytes = numbered(5 << 20);
  std::vector<std::uint8_t> back(bytes.size());
  run(card, kDefault, upload_to(a, 0_B, data(bytes), 5_MiB));
  run(card, kDefault, copy_memory(card, a, 0_B, b, 0_B, 5_MiB));
  run(card, kDefault, fill_memory(card, a, 0_B, 5_MiB, std::byte{9}));
  run(card, kDefault, copy_memory(card, b, 1000_B, a, 7_B, 4_MiB));
  run(card, kDefault, download_from(a, 0_B, reinterpret_cast<std::byte*>(back.data()), 5_MiB));
  EXPECT_EQ(back[6], 9);
  EXPECT_EQ(0, std::memcmp(&back[7], &bytes[1000], 4 << 20));
  EXPECT_EQ(back[7 + (4 << 20)], 9);
  EXPECT_EQ(card.counters().bytes_h2d, 5U << 20);
}

TEST(CardMemory, CopiesAreChecked) {
  Card card(spec_with_domains());
  const Allocation memory = card.allocate(1000_B);
  const std::vector<std::uint8_t> bytes(2000);
  EXPECT_THROW(upload_to(memory, 900_B, data(bytes), 200_B), InvalidArgument);
  EXPECT_THROW(copy_memory(card, memory, 0_B, memory, 100_B, 200_B), InvalidArgument);
  EXPECT_NO_THROW(copy_memory(card, memory, 0_B, memory, 200_B, 200_B));
  EXPECT_NO_THROW(upload_to(memory, 1000_B, data(bytes), 0_B));
}

TEST(CardMemory, HazardsCoverInterleavedAllocations) {
  Card card(spec_with_domains());
  const StreamId other = card.create_stream();
  const Allocation memory = card.allocate({.size = 3_KiB, .directive = {MemoryPolicy::Interleave}});
  std::vector<std::uint8_t> back(3072);
  Operation slow_fill = fill_memory(card, memory, 0_B, 3_KiB, std::byte{5});
  card.enqueue(kDefault,
               callback([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }),
               Urgency::Background);
  card.enqueue(kDefault, std::move(slow_fill), Urgency::Background);
  run(card, other, download_from(memory, 2_KiB, reinterpret_cast<std::byte*>(back.data()), 1_KiB));
  EXPECT_EQ(back[0], 5) << "only the last chunk is read";
}

/// One thread's random allocations; every byte keeps the owner's mark.
void churn(Card& card, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<std::pair<Allocation, std::uint8_t>> live;
  const auto check = [&](const std::pair<Allocation, std::uint8_t>& one) {
    const Piece& place = one.first.place;
    const std::byte* bytes = card.address(place);
    ASSERT_EQ(std::to_integer<int>(bytes[0]), one.second);
    ASSERT_EQ(std::to_integer<int>(bytes[place.length.count - 1]), one.second);
  };
  for (int step = 0; step < steps; ++step) {
    if (!live.empty() && random() % 2 == 0) {
      std::swap(live[random() % live.size()], live.back());
      check(live.back());
      if (random() % 3 == 0) card.free_after(live.back().first, {card.last_point(kDefault)});
      else card.free(live.back().first);
      live.pop_back();
      continue;
    }
    AllocationRequest request{.size = Bytes{1 + random() % (1 << (8 + random() % 13))}};
    request.directive.policy = static_cast<MemoryPolicy>(random() % 4);
    const auto domain = static_cast<std::uint16_t>(random() % 3);
    if (request.directive.policy == MemoryPolicy::Interleave && random() % 2 == 0)
      request.directive.domains = {domain, static_cast<std::uint16_t>((domain + 1) % 3)};
    else if (request.directive.policy != MemoryPolicy::Default)
      request.directive.domains = {domain};
    try {
      live.emplace_back(card.allocate(request), static_cast<std::uint8_t>(random()));
    } catch (const OutOfDeviceMemory&) { continue; }
    const Piece& place = live.back().first.place;
    std::memset(card.address(place), live.back().second, place.length.count);
  }
  for (const auto& [allocation, mark] : live) card.free(allocation);
}

void expect_empty(Card& card) {
  card.synchronize_all();
  EXPECT_NO_THROW(
      card.free(card.allocate({.size = 16_MiB, .directive = {MemoryPolicy::Bind, {1}}})))
      << "a whole region is free again";
  const MemoryStats stats = card.memory_stats();
  EXPECT_EQ(stats.allocated, 0_B);
  EXPECT_EQ(stats.requested, 0_B);
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(stats.pieces, 0U);
  EXPECT_EQ(stats.total_allocated, stats.total_freed);
}

TEST(CardMemory, ChurnOnEightThreadsLeavesNothing) {
  Card card(spec_with_domains());
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) threads.emplace_back([&, t] { churn(card, t, 200); });
  for (std::thread& thread : threads) thread.join();
  expect_empty(card);
}

TEST(CardMemory, ChurnWithFaultsInjectedLeavesNothing) {
  DeviceSpec spec = spec_with_domains();
  spec.poison = 1;
  Card card(spec);
  std::mt19937 random(3);
  int calls = 0;
  card.on_exhaustion([&](Bytes) -> bool {
    ++calls;
    if (random() % 4 == 0) throw OutOfDeviceMemory("injected");
    return random() % 2 == 0;
  });
  std::vector<Allocation> pressure;  // two of three regions are nearly full
  for (const std::uint16_t domain : std::vector<std::uint16_t>{0, 2})
    pressure.push_back(
        card.allocate({.size = 20_MiB, .directive = {MemoryPolicy::Bind, {domain}}}));
  for (int i = 0; i < 100; ++i) {
    const TimelinePoint point = card.enqueue(kDefault, callback([i] {
                                               if (i % 3 == 0) throw DeviceFault("injected");
                                             }),
                                             Urgency::Background);
    if (i % 5 == 0) card.synchronize(point);
  }
  churn(card, 11, 4000);
  // How many faults call it depends on the order in which threads come.
  EXPECT_GT(calls, 0);
  EXPECT_GT(card.memory_stats().failures, 0U);
  for (const Allocation& allocation : pressure) card.free(allocation);
  card.take_fault(kDefault);
  expect_empty(card);
}

}  // namespace
}  // namespace spyre::device_sim
