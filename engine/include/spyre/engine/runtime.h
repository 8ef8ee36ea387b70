// spyre/engine/runtime.h — the one object behind the device: cards, addresses, settings. Starts at first use.
#pragma once
#include <c10/core/Device.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spyre/device_sim/meter_file.h"
#include "spyre/engine/address_space.h"
#include "spyre/engine/device_count.h"
#include "spyre/engine/fallback_counter.h"
#include "spyre/engine/settings.h"
#include "spyre/engine/stream_pool.h"
#include "spyre/lazy/device.h"

namespace spyre::engine {

/// What belongs to one card.
struct DeviceEntry {
  DeviceEntry(c10::DeviceIndex which, const lazy::Settings& settings,
              std::shared_ptr<const device_sim::ModelledHost> host);
  c10::DeviceIndex index;
  lazy::Device device;
  Bytes capacity;
  AddressSpace addresses;
  StreamPool streams;
};

/// Lives from first use to the end of the process: tensors may outlive every static object, so it has no destructor
/// that runs. A forked child inherits a runtime without its threads; every use there raises. Internally synchronized.
class Runtime {
 public:
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Starts the runtime if need be. Throws c10::Error in a forked child, InvalidArgument for a bad environment.
  static Runtime& get() {
    Runtime* runtime = instance_.load(std::memory_order_acquire);
    return runtime != nullptr ? *runtime : start();
  }
  /// The running runtime, or null: not started, or in a forked child.
  static Runtime* running() noexcept { return instance_.load(std::memory_order_acquire); }
  static bool in_bad_fork() noexcept;

  /// Index -1: the thread's current device. Throws c10::Error for an index out of range.
  DeviceEntry& entry(c10::DeviceIndex index);
  /// The card that handed out a storage's address.
  DeviceEntry& entry_holding(std::uintptr_t address);
  bool holds(std::uintptr_t address) const noexcept;
  lazy::Device& device(c10::DeviceIndex index) { return entry(index).device; }
  /// All, in order of their indexes.
  std::span<const std::unique_ptr<DeviceEntry>> entries() const { return devices_; }

  lazy::Settings settings() const;
  void configure(const lazy::Settings& settings);
  kernels::Isa isa() const { return isa_.load(std::memory_order_relaxed); }
  kernels::Numerics numerics() const { return numerics_.load(std::memory_order_relaxed); }
  FallbackPolicy fallback_policy() const {
    return fallback_policy_.load(std::memory_order_relaxed);
  }
  void set_fallback_policy(FallbackPolicy policy) {
    fallback_policy_.store(policy, std::memory_order_relaxed);
  }
  FallbackCounter& fallbacks() { return fallbacks_; }

  /// False if SPYRE_CLOCK=off: the cards have no modelled time to record.
  bool models_time() const;
  /// Of every card; bytes of device memory given back.
  Bytes empty_caches();

  /// For a profiler: from here on every card records what it does, until it is taken. By card.
  void record_activities();
  std::vector<device_sim::ActivityRecord> take_activities();

  /// What the card has done since it started, for spyre-smi and the like.
  const device_sim::Meters& meters(c10::DeviceIndex index);

  /// Waits for all work; pending faults are printed, not thrown: for the end of the process.
  void drain_at_exit() noexcept;

 private:
  explicit Runtime(const lazy::Settings& settings);
  static Runtime& start();
  static void forget_after_fork() noexcept;
  void publish_meters();

  static std::atomic<Runtime*> instance_;
  std::vector<std::unique_ptr<DeviceEntry>> devices_;
  std::unique_ptr<device_sim::MeterFile> meters_;
  std::atomic<kernels::Isa> isa_;            // of the settings: products ask at every call
  std::atomic<kernels::Numerics> numerics_;  // likewise: whoever makes or brings numbers
  std::atomic<FallbackPolicy> fallback_policy_;
  FallbackCounter fallbacks_;
};

}  // namespace spyre::engine
