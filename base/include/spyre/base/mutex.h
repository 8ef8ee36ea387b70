// spyre/base/mutex.h — the mutex, its scoped lock, and waiting on a condition, all annotated.
#pragma once
#include <condition_variable>
#include <mutex>

#include "spyre/base/thread_annotations.h"

namespace spyre {

/// Not recursive. Internally synchronized.
class SPYRE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() SPYRE_ACQUIRE() { mutex_.lock(); }
  bool try_lock() SPYRE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() SPYRE_RELEASE() { mutex_.unlock(); }

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a mutex to the end of the scope; may be released and taken again in between. Confined to
/// one thread.
class SPYRE_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) SPYRE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~Lock() SPYRE_RELEASE() {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void lock() SPYRE_ACQUIRE() { lock_.lock(); }
  void unlock() SPYRE_RELEASE() { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

/// Wakes threads that wait for a change of what a mutex guards. Internally synchronized.
class Condition {
 public:
  /// Releases the lock while it sleeps. May wake for no reason: test the condition in a loop.
  void wait(Lock& lock) { condition_.wait(lock.lock_); }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace spyre
