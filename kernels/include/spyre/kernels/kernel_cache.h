// spyre/kernels/kernel_cache.h — KernelSpecs to code: bounded, verified, counted.
#pragma once
#include <cstdint>
#include <memory>

#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

struct CacheCounts {
  std::uint64_t hits = 0, misses = 0, entries = 0, bytes = 0, evictions = 0;
};

/// Least recently used entries go first when `capacity` bytes of code and keys are exceeded; kernels in use
/// by a plan live on through their shared_ptr. A hit compares the whole key. Internally synchronized.
class KernelCache {
 public:
  explicit KernelCache(Bytes capacity);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  std::shared_ptr<const Kernel> find_or_compile(const KernelSpec& spec, Execution execution,
                                                Isa isa);

  CacheCounts counts() const;
  std::uint64_t kernels_compiled() const;
  std::uint64_t compile_nanoseconds() const;  // wall time
  void clear();
  void reset_counts();
  /// For tests of law 4: keeps only `bits` of each hash, so that collisions happen.
  void set_hash_mask(unsigned bits);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spyre::kernels
