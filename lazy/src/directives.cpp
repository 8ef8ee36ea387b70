// spyre/lazy/directives.cpp — a short list per device, and one per thread.
#include "directives.h"

#include <algorithm>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::lazy {
namespace {

struct Current {
  const Directives* device;
  std::uint16_t number;
};

/// Of this thread, by device. Few threads have any, and few devices.
std::vector<Current>& currents() {
  static thread_local std::vector<Current> all;
  return all;
}

}  // namespace

std::uint16_t Directives::current_of_thread() const {
  for (const Current& current : currents())
    if (current.device == this && current.number < all_.size()) return current.number;
  return 0;
}

std::uint16_t Directives::number_of(const device_sim::Directive& directive) {
  const auto known = std::ranges::find(all_, directive);
  if (known == all_.end() && all_.size() > kMost)
    throw InvalidArgument(str("memory directive: a device keeps ", kMost, " different ones"));
  const auto number = static_cast<std::uint16_t>(known - all_.begin());
  if (known == all_.end()) all_.push_back(directive);
  return number;
}

device_sim::Directive Directives::exchange_current(const device_sim::Directive& directive) {
  const device_sim::Directive previous = all_[current()];
  const std::uint16_t number = number_of(directive);
  std::erase_if(currents(), [&](const Current& c) { return c.device == this; });
  if (number != 0) currents().push_back({this, number});
  return previous;
}

}  // namespace spyre::lazy
