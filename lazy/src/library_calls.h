// spyre/lazy/library_calls.h — library calls made so far, by what determines them.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "spyre/kernels/library.h"
#include "spyre/lazy/record.h"
#include "spyre/lazy/verified_cache.h"

namespace spyre::lazy {

/// A call is made once for equal name, key and operand shapes; where the operands lie (offsets,
/// buffers) does not matter. Guarded by the device's lock.
class LibraryCalls {
 public:
  explicit LibraryCalls(Bytes capacity) : calls_(capacity) {}
  std::shared_ptr<const kernels::LibraryCall> find_or_make(const Library& op, Retired& retired);
  void retire_all(Retired& retired) { calls_.retire_all(retired); }
  kernels::CacheCounts counts() const { return calls_.counts(); }
  void reset_counts() { calls_.reset_counts(); }
  void set_hash_mask(unsigned bits) { calls_.set_hash_mask(bits); }

 private:
  void build_key(const Library& op);
  VerifiedCache<const kernels::LibraryCall> calls_;
  std::vector<std::byte> key_;
};

}  // namespace spyre::lazy
