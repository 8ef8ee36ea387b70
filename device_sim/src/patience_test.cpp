// spyre/device_sim/patience_test.cpp — a wait that is given up leaves its work to others.
#include "spyre/device_sim/patience.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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
