// spyre/device_sim/peer_copy_test.cpp — copies between cards: bytes, order, time, both ways at once, faults.
#include "spyre/device_sim/peer_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <stdexcept>
#include <thread>

#include "test_programs.h"

namespace spyre::device_sim {
namespace {

/// Two cards of one machine, and memory on both. Fails if a copy keeps anything alive.
class PeerCopyTest : public ::testing::Test {
 protected:
  static constexpr Bytes kSize = 4_KiB;

  PeerCopyTest() : PeerCopyTest(small_spec(), small_spec()) {}
  PeerCopyTest(DeviceSpec first, DeviceSpec second)
      : host_(std::make_shared<ModelledHost>()),
        a_(std::move(first), host_),
        b_(std::move(second), host_),
        at_a_(a_.allocate(kSize).place),
        at_b_(b_.allocate(kSize).place) {}
  ~PeerCopyTest() override {
    a_.drain_all();
    b_.drain_all();
    EXPECT_EQ(kept_.use_count(), 1);
  }

  PeerCopyPoints a_to_b(Urgency urgency = Urgency::Waited, std::function<void()> arrived = {}) {
    return copy_between({a_, kDefault, at_a_}, {b_, kDefault, at_b_}, kept_, std::move(arrived),
                        urgency);
  }
  PeerCopyPoints b_to_a(Urgency urgency = Urgency::Waited) {
    return copy_between({b_, kDefault, at_b_}, {a_, kDefault, at_a_}, kept_, {}, urgency);
  }
  static void fill(Card& card, const Piece& piece, int value) {
    run(card, kDefault, upload(std::vector<int>(piece.length.count / sizeof(int), value), piece));
  }
  static int first_of(Card& card, const Piece& piece) {
    std::vector<int> values(piece.length.count / sizeof(int));
    run(card, kDefault, download(piece, values));
    for (const int value : values) EXPECT_EQ(value, values.front());
    return values.front();
  }

  std::shared_ptr<const ModelledHost> host_;
  Card a_, b_;
  Piece at_a_, at_b_;
  std::shared_ptr<const int> kept_ = std::make_shared<const int>(0);
};

TEST_F(PeerCopyTest, MovesBytesInOrderOnBothStreams) {
  fill(b_, at_b_, 1);
  fill(a_, at_a_, 2);
  a_to_b();
  fill(a_, at_a_, 3);  // after the copy has read
  EXPECT_EQ(first_of(b_, at_b_), 2);
  b_to_a();
  EXPECT_EQ(first_of(a_, at_a_), 2);
  EXPECT_EQ(a_.counters().bytes_to_peers, kSize.count);
  EXPECT_EQ(a_.counters().bytes_from_peers, kSize.count);
  EXPECT_EQ(b_.counters().bytes_h2d, kSize.count);  // what the host sent
}

TEST_F(PeerCopyTest, NobodyWaitsUntilTheValueIsAsked) {
  std::latch go(1);
  fill(a_, at_a_, 7);
  a_.enqueue(kDefault, callback([&] { go.wait(); }), Urgency::Background);
  const PeerCopyPoints points = a_to_b(Urgency::Background);
  EXPECT_FALSE(a_.reached(points.source));
  EXPECT_FALSE(b_.reached(points.target));
  go.count_down();
  EXPECT_EQ(first_of(b_, at_b_), 7);
}

TEST_F(PeerCopyTest, TheTargetIsNotWrittenWhileItsCardStillReadsIt) {
  std::latch go(1);
  fill(a_, at_a_, 2);
  fill(b_, at_b_, 1);
  std::vector<int> before(kSize.count / sizeof(int));
  const StreamId other = b_.create_stream();
  Operation read = compute_once([&] {
    go.wait();
    std::memcpy(before.data(), b_.address(at_b_), kSize.count);
  });
  read.footprint.reads = {at_b_};
  b_.enqueue(other, std::move(read), Urgency::Background);
  const PeerCopyPoints points = a_to_b(Urgency::Background);
  EXPECT_FALSE(b_.reached(points.target));
  go.count_down();
  b_.synchronize(points.target);
  EXPECT_EQ(before.front(), 1);
  EXPECT_EQ(first_of(b_, at_b_), 2);
}

TEST_F(PeerCopyTest, ArrivedIsCalledOnce) {
  int calls = 0;
  b_.synchronize(a_to_b(Urgency::Waited, [&] { ++calls; }).target);
  EXPECT_EQ(calls, 1);
}

TEST_F(PeerCopyTest, BothSidesTakeTheSameModelledTime) {
  const PeerCopyPoints first = a_to_b(), second = a_to_b();
  EXPECT_EQ(first.source.modelled_ps, first.target.modelled_ps);
  const DeviceSpec& spec = a_.spec();
  const std::uint64_t price =
      spec.peer_setup_ps + kSize.count * 1000 / static_cast<std::uint64_t>(spec.peer_gb_per_s);
  EXPECT_GE(second.source.modelled_ps - first.source.modelled_ps, price - 1000);
}

class UnequalCards : public PeerCopyTest {
 protected:
  static DeviceSpec slow() {
    DeviceSpec spec = small_spec();
    spec.peer_gb_per_s = 0.001;  // 4 KiB in 4 ms
    return spec;
  }
  UnequalCards() : PeerCopyTest(small_spec(), slow()) {}
};

TEST_F(UnequalCards, TheSlowerSideBoundsTheCopy) {
  const PeerCopyPoints out = a_to_b();
  EXPECT_GT(out.source.modelled_ps, 4'000'000'000U);
  EXPECT_EQ(out.source.modelled_ps, out.target.modelled_ps);
  const PeerCopyPoints back = b_to_a();
  EXPECT_GT(back.source.modelled_ps, 8'000'000'000U);
}

TEST_F(PeerCopyTest, AThreadTakesItsModelledTimeFromCardToCard) {
  const TimelinePoint slow =
      a_.enqueue(kDefault, compute(1, [](auto...) {}, kLargeWork), Urgency::Waited);
  a_.synchronize(slow);  // this thread has seen the result of it
  EXPECT_GT(b_.enqueue(kDefault, callback([] {}), Urgency::Waited).modelled_ps, slow.modelled_ps);
  std::thread([&] {  // another thread has not
    Card other(small_spec(), host_);
    EXPECT_LT(other.enqueue(kDefault, callback([] {}), Urgency::Waited).modelled_ps,
              slow.modelled_ps);
  })
      .join();
}

TEST_F(PeerCopyTest, AStreamWaitsForAPointOfAnotherCard) {
  std::latch go(1);
  std::atomic<bool> first{false};
  const TimelinePoint point = a_.enqueue(kDefault, compute_once([&] {
                                           go.wait();
                                           first = true;
                                         }),
                                         Urgency::Background);
  b_.wait_for(kDefault, PeerPoint{&a_, point});
  bool in_order = false;
  const TimelinePoint after =
      b_.enqueue(kDefault, compute_once([&] { in_order = first.load(); }), Urgency::Background);
  EXPECT_FALSE(b_.reached(after));
  EXPECT_GT(after.modelled_ps, point.modelled_ps);
  go.count_down();
  b_.synchronize(after);
  EXPECT_TRUE(in_order);
}

TEST_F(PeerCopyTest, CopiesBothWaysFromManyThreadsEnd) {
  constexpr int kThreads = 8, kCopies = 50;
  std::array<StreamId, kThreads> on_a{}, on_b{};
  std::array<Piece, kThreads> of_a{}, of_b{};
  for (std::size_t i = 0; i < kThreads; ++i) {
    on_a[i] = a_.create_stream();
    on_b[i] = b_.create_stream();
    of_a[i] = a_.allocate(kSize).place;
    of_b[i] = b_.allocate(kSize).place;
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const PeerEnd a{a_, on_a[i], of_a[i]}, b{b_, on_b[i], of_b[i]};
      const Urgency urgency = i % 2 == 0 ? Urgency::Background : Urgency::Waited;
      for (int n = 0; n < kCopies; ++n) {
        const bool out = (n + static_cast<int>(i)) % 2 == 0;
        const PeerCopyPoints points = copy_between(out ? a : b, out ? b : a, kept_, {}, urgency);
        if (n % 7 == 0) (out ? a_ : b_).synchronize(points.source);
        if (n % 5 == 0) (out ? b_ : a_).synchronize(points.target);
      }
    });
  for (std::thread& thread : threads) thread.join();
  a_.synchronize_all();
  b_.synchronize_all();
  EXPECT_EQ(a_.counters().bytes_to_peers, b_.counters().bytes_from_peers);
  EXPECT_EQ(a_.counters().bytes_to_peers + b_.counters().bytes_to_peers,
            kThreads * kCopies * kSize.count);
}

TEST_F(PeerCopyTest, AFaultOfTheSourcesStreamReachesTheTargets) {
  a_.enqueue(kDefault, compute_once([] { throw std::runtime_error("broken"); }), Urgency::Waited);
  const PeerCopyPoints points = a_to_b();
  b_.synchronize(points.target);
  EXPECT_NE(b_.take_fault(kDefault), nullptr);
  EXPECT_NE(a_.take_fault(kDefault), nullptr);
  fill(a_, at_a_, 5);
  a_to_b();
  EXPECT_EQ(first_of(b_, at_b_), 5);  // both are usable again
}

TEST_F(PeerCopyTest, ARecordedRunIsPricedAsItWas) {
  a_.record_timeline(true);
  b_.record_timeline(true);
  a_.synchronize(a_.enqueue(kDefault, compute(1, [](auto...) {}, kLargeWork), Urgency::Waited));
  b_.synchronize(a_to_b().target);
  const std::string of_a = a_.timeline_json(), of_b = b_.timeline_json();
  EXPECT_NE(of_a.find("\"send\""), std::string::npos);
  EXPECT_NE(of_b.find("\"receive\""), std::string::npos);
  EXPECT_NE(of_b.find("device_to_device"), std::string::npos);
  // The slice of the receiver stands where the sender's does.
  const auto slice = [](const std::string& json, const std::string& name) {
    const std::string lane = name == "send" ? "\"tid\":2," : "\"tid\":1,";
    for (std::size_t at = json.find(lane); at != std::string::npos; at = json.find(lane, at + 1)) {
      const std::string line = json.substr(at, json.find('\n', at) - at);
      if (line.find("\"name\":\"" + name + '"') != std::string::npos)
        return line.substr(lane.size(), line.find(",\"name\"") - lane.size());
    }
    return std::string();
  };
  EXPECT_FALSE(slice(of_a, "send").empty());
  EXPECT_EQ(slice(of_a, "send"), slice(of_b, "receive"));
}

}  // namespace
}  // namespace spyre::device_sim
