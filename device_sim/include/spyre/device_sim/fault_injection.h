// spyre/device_sim/fault_injection.h — failures on request, to try out what a program does about them.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace spyre::device_sim {

/// What can be made to fail.
enum class FaultSite : std::uint8_t {
  Allocation,
  HostToDevice,
  DeviceToHost,
  Kernel,
  Callback,
  PeerCopy,
};
inline constexpr std::size_t kFaultSiteCount = static_cast<std::size_t>(FaultSite::PeerCopy) + 1;
std::string_view name_of(FaultSite site);

/// Of each site: which of its next operations fail. Operations are counted in the order in which
/// they run. Internally synchronized; off, it costs one load.
class FaultInjector {
 public:
  /// After `after` more of them, `times` fail. Replaces what was asked for before.
  void arm(FaultSite site, std::uint64_t after, std::uint64_t times);
  /// Nothing fails any more; how many have failed since the last call.
  std::uint64_t disarm();
  /// Whether this one fails.
  bool due(FaultSite site) { return armed_.load(std::memory_order_relaxed) && count_down(site); }
  /// Throws DeviceFault if it does.
  void check(FaultSite site) {
    if (due(site)) fail(site);
  }

 private:
  struct Countdown {
    std::atomic<std::int64_t> next{0}, times{0};
  };
  bool count_down(FaultSite site);
  [[noreturn]] static void fail(FaultSite site);

  std::atomic<bool> armed_{false};
  std::atomic<std::uint64_t> failed_{0};
  std::array<Countdown, kFaultSiteCount> sites_;
};

}  // namespace spyre::device_sim
