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

  /// The innermost of this thread, or null.
  static const Patience* current() { return innermost(); }
  /// The same if its time to be asked has come: it will be asked now.
  static const Patience* due();
  /// Any thread, while the owner sleeps.
  bool is_due() const;
  bool gives_up() const { return gives_up_(); }

 private:
  static constexpr std::chrono::milliseconds kInterval{20};
  static Patience*& innermost();
  void start_interval();

  Question gives_up_;
  Patience* outer_;
  std::chrono::nanoseconds next_{};  // time since some start
};

}  // namespace spyre::device_sim
