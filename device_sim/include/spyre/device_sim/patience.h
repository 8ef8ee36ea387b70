// spyre/device_sim/patience.h — how a thread that waits for the card hears that it should not.
#pragma once
#include <chrono>

#include "spyre/base/error.h"

namespace spyre::device_sim {

/// The thread that waited was told to give up. What it waited for goes on.
class WaitGivenUp : public Error {
 public:
  using Error::Error;
};

/// While it lives, this thread's waits for points of the card ask `gives_up` every now and then, between operations and
/// without any lock, and end with WaitGivenUp once it says so. Scopes nest; the innermost is asked. Confined to one
/// thread.
class Patience {
 public:
  using Question = bool (*)();
  explicit Patience(Question question);
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  /// The one of this thread whose time to be asked has come, or null.
  static const Patience* due();
  bool gives_up() const { return gives_up_(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kInterval = std::chrono::milliseconds(20);
  static Patience*& innermost();

  Question gives_up_;
  Patience* outer_;
  Clock::time_point next_ = Clock::now() + kInterval;
};

}  // namespace spyre::device_sim
