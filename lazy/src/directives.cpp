// spyre/lazy/directives.cpp — a short list per device, and one per thread.
#include "directives.h"

#include <algorithm>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::lazy {
namespace {

struct Current {
  std::weak_ptr<const void> device;  // its identity: another one may come to lie where it lay
  std::uint16_t number;
};

bool same_owner(const std::weak_ptr<const void>& a, const std::shared_ptr<const void>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

/// Of this thread, by device. Few threads have any, and few devices.
std::vector<Current>& currents() {
  static thread_local std::vector<Current> all;
  return all;
}

}  // namespace

std::uint16_t Directives::current_of_thread() const {
  for (const Current& current : currents())
    if (same_owner(current.device, identity_)) return current.number;
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
  std::erase_if(currents(), [&](const Current& c) {
    return c.device.expired() || same_owner(c.device, identity_);
  });
  if (number != 0) currents().push_back({identity_, number});
  return previous;
}

}  // namespace spyre::lazy
