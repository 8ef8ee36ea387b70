// spyre/device_sim/patience_test.cpp — a wait that is given up leaves its work to others.
#include "spyre/device_sim/patience.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "scheduler.h"
#include "test_programs.h"

namespace spyre::device_sim {
namespace {

void run_callback(const Operation& operation) {
  if (const auto* callback = std::get_if<HostCallback>(&operation.what)) callback->function();
}

constexpr auto kLongerThanPatience = std::chrono::milliseconds(40);

class PatienceTest : public testing::Test {
 protected:
  TimelinePoint submit_slow(int count) {
    TimelinePoint last;
    for (int i = 0; i < count; ++i)
      last = scheduler_.submit(kDefault, callback([this] {
                                 std::this_thread::sleep_for(kLongerThanPatience);
                                 ++ran_;
                               }),
                               Urgency::Waited);
    return last;
  }
  DeviceSpec spec_ = small_spec();
  std::atomic<int> ran_ = 0;
  Scheduler scheduler_{spec_, run_callback};
};

TEST_F(PatienceTest, AWaitEndsBetweenOperationsAndTheRestRunsLater) {
  const TimelinePoint last = submit_slow(3);
  {
    const Patience none([] { return true; });
    EXPECT_THROW(scheduler_.synchronize(last), WaitGivenUp);
  }
  scheduler_.synchronize(last);
  EXPECT_EQ(ran_, 3);
}

TEST_F(PatienceTest, AWaitGoesOnWhileItIsNotGivenUp) {
  const Patience endless([] { return false; });
  scheduler_.synchronize(submit_slow(2));
  EXPECT_EQ(ran_, 2);
}

TEST_F(PatienceTest, DrainingKnowsNoPatience) {
  const TimelinePoint last = submit_slow(2);
  const Patience none([] { return true; });
  scheduler_.drain(last);
  EXPECT_EQ(ran_, 2);
}

TEST_F(PatienceTest, AnOperationThatWaitsIsNotGivenUp) {
  const StreamId other = scheduler_.create_stream();
  const TimelinePoint inner = submit_slow(2);
  static bool inside;
  inside = false;  // before the operation has begun, it could be given up
  const TimelinePoint outer = scheduler_.submit(other, callback([this, inner] {
                                                  inside = true;
                                                  scheduler_.synchronize(inner);
                                                }),
                                                Urgency::Waited);
  {
    const Patience none([] { return inside; });
    scheduler_.synchronize(outer);  // one operation: nothing to give up between
  }
  EXPECT_EQ(ran_, 2);
  EXPECT_EQ(scheduler_.take_fault(other), nullptr);
}

TEST(Patience, AnEndlessScopeIsNeverAsked) {
  const Patience none([] { return true; });
  std::this_thread::sleep_for(kLongerThanPatience);
  EXPECT_NE(Patience::current(), nullptr);
  EXPECT_TRUE(Patience::current()->is_due());
  {
    const Patience endless(nullptr);
    EXPECT_EQ(Patience::due(), nullptr);
  }
  EXPECT_NE(Patience::due(), nullptr) << "only the innermost is asked";
}

class GivenUpTransfer : public testing::Test {
 protected:
  /// Submits it behind something slow, waits for it, and gives up.
  void give_up(Operation transfer) {
    card_.enqueue(kDefault, callback([] { std::this_thread::sleep_for(kLongerThanPatience); }),
                  Urgency::Waited);
    const TimelinePoint point = card_.enqueue(kDefault, std::move(transfer), Urgency::Waited);
    const Patience none([] { return true; });
    try {
      card_.synchronize(point);
      ADD_FAILURE() << "the wait was not given up";
    } catch (const WaitGivenUp& end) { end.detach_transfer(); }
  }
  Card card_{small_spec()};
  Piece piece_ = card_.allocate(128_B).place;
};

TEST_F(GivenUpTransfer, HasCopiedWhatItSends) {
  std::vector<std::int32_t> sent{7}, brought{0};
  give_up(upload(sent, piece_));
  sent = {8};
  run(card_, kDefault, download(piece_, brought));
  EXPECT_EQ(brought[0], 7);
}

TEST_F(GivenUpTransfer, BringsNothing) {
  std::vector<std::int32_t> sent{7}, brought{1};
  run(card_, kDefault, upload(sent, piece_));
  give_up(download(piece_, brought));
  brought = {2};
  card_.synchronize_all();
  EXPECT_EQ(brought[0], 2);
}

TEST(Patience, IsAskedInItsThreadAndScopeOnly) {
  const Patience outer([] { return true; });
  {
    const Patience inner([] { return false; });
    std::this_thread::sleep_for(kLongerThanPatience);
    const Patience* asked = Patience::due();
    ASSERT_NE(asked, nullptr);
    EXPECT_FALSE(asked->gives_up());
    std::thread([] { EXPECT_EQ(Patience::due(), nullptr); }).join();
  }
  const Patience* asked = Patience::due();
  ASSERT_NE(asked, nullptr);
  EXPECT_TRUE(asked->gives_up());
}

}  // namespace
}  // namespace spyre::device_sim
