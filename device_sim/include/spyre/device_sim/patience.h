// spyre/device_sim/patience.h — how a thread that waits for the card hears that it should not.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "spyre/base/error.h"

namespace spyre::device_sim {

/// The thread that waited was told to give up. What it waited for goes on. Thrown by a card, which outlives it.
class WaitGivenUp : public Error {
 public:
  WaitGivenUp(const std::string& what, std::function<void()> detach)
      : Error(what), detach_(std::move(detach)) {}
  /// For who has submitted the transfer that was waited for: from here on it does without the host's memory. What it
  /// sends was copied; what it brings is dropped. Waits if it runs now.
  void detach_transfer() const { detach_(); }

 private:
  std::function<void()> detach_;
};

/// While it lives, this thread's waits for points of the card that take long ask `gives_up` every now and then, between
/// operations and without any lock, and end with WaitGivenUp once it says so. Scopes nest; the innermost is asked.
/// Confined to one thread.
class Patience {
 public:
  using Question = bool (*)();
  /// nullptr: waits in this scope go on to their ends.
  explicit Patience(Question question);
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  /// A wait of this thread begins: it will not be asked at once.
  static void begin_wait();
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
