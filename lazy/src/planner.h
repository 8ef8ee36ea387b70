// spyre/lazy/planner.h — a finished trace to its launch plan: looked up by its key, compiled if unknown.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "spyre/kernels/kernel_cache.h"
#include "spyre/lazy/device.h"
#include "spyre/lazy/key.h"
#include "spyre/lazy/launch_plan.h"
#include "spyre/lazy/verified_cache.h"
#include "library_calls.h"

namespace spyre::lazy {

/// The two caches, traces to plans and KernelSpecs to code, and that of library calls. Guarded by the device's lock.
class Planner {
 public:
  Planner(const Settings& settings, const device_sim::DeviceSpec& card);

  std::shared_ptr<const LaunchPlan> find_or_compile(const Trace& trace);
  std::shared_ptr<const kernels::LibraryCall> library_call(const Library& op) { return calls_.find_or_make(op); }

  void configure(const Settings& settings);
  const Settings& settings() const { return settings_; }

  /// Everything cached, for the caller to destroy outside the lock.
  [[nodiscard]] std::shared_ptr<const void> take_caches();
  void set_hash_mask(unsigned bits);
  kernels::CacheCounts plan_counts() const { return plans_.counts(); }
  const kernels::KernelCache& kernels() const { return kernels_; }
  void reset_counts();

 private:
  std::shared_ptr<const LaunchPlan> compile(const Trace& trace);
  void make_fingerprint();

  Settings settings_;
  Bytes scratchpad_;
  std::uint64_t cores_;
  std::vector<std::byte> fingerprint_;   // settings that change plans
  std::vector<BufferFacts> facts_;
  KeyBuilder key_;
  VerifiedCache<const LaunchPlan> plans_;
  LibraryCalls calls_;
  kernels::KernelCache kernels_;
  std::uint32_t dumps_ = 0;
};

}  // namespace spyre::lazy
