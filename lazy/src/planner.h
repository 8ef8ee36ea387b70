// spyre/lazy/planner.h — a finished trace to its launch plan: looked up by its key, compiled if
// unknown.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "library_calls.h"
#include "miss_history.h"
#include "spyre/kernels/kernel_cache.h"
#include "spyre/lazy/device.h"
#include "spyre/lazy/key.h"
#include "spyre/lazy/launch_plan.h"
#include "spyre/lazy/verified_cache.h"

namespace spyre::lazy {

/// The two caches, traces to plans and KernelSpecs to code, and that of library calls. Guarded by
/// the device's lock.
class Planner {
 public:
  Planner(const Settings& settings, const device_sim::DeviceSpec& card);

  /// `before`: the plan of the trace before on the same stream, which tells what may come; it
  /// becomes this one.
  std::shared_ptr<const LaunchPlan> find_or_compile(const Trace& trace, CacheHint& before);
  /// The same with facts that were taken earlier, and nothing known of what came before.
  std::shared_ptr<const LaunchPlan> find_or_compile(const Trace& trace,
                                                    std::span<const BufferFacts> facts);
  std::shared_ptr<const kernels::LibraryCall> library_call(const Library& op) {
    return calls_.find_or_make(op, retired_);
  }

  void configure(const Settings& settings);
  const Settings& settings() const { return settings_; }
  /// Counts from 1; plans made under another version may not fit the settings.
  std::uint64_t settings_version() const { return settings_version_; }

  /// Forgets plans, calls and kernels.
  void clear();
  bool has_retired() const { return !retired_.empty(); }
  /// What left the caches, for the caller to destroy without the lock.
  [[nodiscard]] Retired take_retired() { return std::exchange(retired_, {}); }
  void set_hash_mask(unsigned bits);
  kernels::CacheCounts plan_counts() const { return plans_.counts(); }
  kernels::CacheCounts call_counts() const { return calls_.counts(); }
  std::uint64_t plans_predicted() const { return plans_.predicted(); }
  const std::array<std::uint64_t, kMissCauseCount>& misses() const { return misses_; }
  const kernels::KernelCache& kernels() const { return kernels_; }
  void reset_counts();

 private:
  std::shared_ptr<const LaunchPlan> compile(const Trace& trace, std::span<const BufferFacts> facts);
  void make_fingerprint();

  Settings settings_;
  std::uint64_t settings_version_ = 1;
  Bytes scratchpad_;
  std::uint64_t cores_;
  std::vector<std::byte> fingerprint_;  // settings that change plans
  std::vector<BufferFacts> facts_;
  KeyBuilder key_;
  MissHistory history_;
  std::array<std::uint64_t, kMissCauseCount> misses_{};
  VerifiedCache<const LaunchPlan> plans_;
  LibraryCalls calls_;
  kernels::KernelCache kernels_;
  Retired retired_;
  std::uint32_t dumps_ = 0;
};

}  // namespace spyre::lazy
