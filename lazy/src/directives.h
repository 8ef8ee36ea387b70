// spyre/lazy/directives.h — how the buffers of a device are to be placed: each directive once.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>

#include "spyre/device_sim/directive.h"

namespace spyre::lazy {

/// Buffers have their directive's number here; 0 is the default's. Each thread has a current one.
/// Guarded by the device's lock.
class Directives {
 public:
  /// The directives that one device ever sees; more than these are an error of the program.
  static constexpr std::size_t kMost = 0xFFFF;

  const device_sim::Directive& operator[](std::uint16_t number) const { return all_[number]; }
  /// Whether there is any but the default's: who asks this first need not ask more.
  bool any() const { return all_.size() > 1; }

  /// What new buffers get that this thread makes.
  std::uint16_t current() const { return any() ? current_of_thread() : std::uint16_t{0}; }
  /// The previous one. Throws InvalidArgument if there are too many.
  device_sim::Directive exchange_current(const device_sim::Directive& directive);

 private:
  std::uint16_t current_of_thread() const;
  std::uint16_t number_of(const device_sim::Directive& directive);

  std::deque<device_sim::Directive> all_{1};  // references stay
  std::shared_ptr<const void> identity_ = std::make_shared<char>();
};

}  // namespace spyre::lazy
