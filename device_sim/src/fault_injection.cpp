// spyre/device_sim/fault_injection.cpp — counts operations down to the ones that fail.
#include "spyre/device_sim/fault_injection.h"

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {

std::string_view name_of(FaultSite site) {
  constexpr std::array<std::string_view, kFaultSiteCount> kNames{
      "allocation", "host_to_device", "device_to_host", "kernel", "callback", "peer_copy"};
  return kNames[static_cast<std::size_t>(site)];
}

void FaultInjector::arm(FaultSite site, std::uint64_t after, std::uint64_t times) {
  Countdown& countdown = sites_[static_cast<std::size_t>(site)];
  countdown.times.store(0);  // nothing is due while the counts change
  countdown.next.store(static_cast<std::int64_t>(after));
  countdown.times.store(static_cast<std::int64_t>(times));
  armed_.store(true);
}

std::uint64_t FaultInjector::disarm() {
  armed_.store(false);
  for (Countdown& countdown : sites_) countdown.times.store(0);
  return failed_.exchange(0);
}

bool FaultInjector::count_down(FaultSite site) {
  Countdown& countdown = sites_[static_cast<std::size_t>(site)];
  if (countdown.times.load() == 0) return false;
  const std::int64_t number = countdown.next.fetch_sub(1);
  if (number > 0 || number <= -countdown.times.load()) return false;
  ++failed_;
  return true;
}

void FaultInjector::fail(FaultSite site) {
  throw DeviceFault(str("injected fault: this ", name_of(site), " was asked to fail"));
}

}  // namespace spyre::device_sim
