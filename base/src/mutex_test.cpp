// spyre/base/mutex_test.cpp — mutual exclusion and wake-ups.
#include "spyre/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace spyre {
namespace {

TEST(Mutex, ExcludesOtherThreads) {
  Mutex mutex;
  int count = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const Lock lock(mutex);
        ++count;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(count, 4000);
}

TEST(Condition, WakesTheWaiter) {
  Mutex mutex;
  Condition changed;
  bool ready = false;
  std::jthread setter([&] {
    const Lock lock(mutex);
    ready = true;
    changed.notify_all();
  });
  Lock lock(mutex);
  while (!ready) changed.wait(lock);
  EXPECT_TRUE(ready);
}

TEST(Lock, CanBeReleasedEarly) {
  Mutex mutex;
  Lock lock(mutex);
  lock.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  lock.lock();
}

}  // namespace
}  // namespace spyre
