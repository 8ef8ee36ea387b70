// spyre/lazy/owner_ledger.h — how many buffers have outside owners, of how many bytes: now, at most, ever.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "spyre/base/bytes.h"

namespace spyre::lazy {

/// One counted quantity.
struct Tally {
  std::int64_t current = 0, peak = 0, allocated = 0, freed = 0;
};

/// Buffers that outside owners hold, by number and by promised bytes: as they were asked for, and in
/// whole blocks.
struct OwnedTally {
  Tally buffers, requested, bytes;
};

/// What comes is counted by the holder of the device's lock, what goes by any thread. Everything
/// but the removals is guarded by that lock.
class OwnerLedger {
 public:
  void add(Bytes size) {
    buffers_.add(1);
    requested_.add(size.count);
    bytes_.add(size.rounded_up(kBlock).count);
  }
  void remove(Bytes size) noexcept {
    buffers_.remove(1);
    requested_.remove(size.count);
    bytes_.remove(size.rounded_up(kBlock).count);
  }
  OwnedTally tally() const { return {buffers_.tally(), requested_.tally(), bytes_.tally()}; }
  void reset_peak() {
    for (Line* line : {&buffers_, &requested_, &bytes_}) line->reset_peak();
  }
  void reset_accumulated() {
    for (Line* line : {&buffers_, &requested_, &bytes_}) line->reset_accumulated();
  }

 private:
  class Line {
   public:
    void add(std::uint64_t amount) {
      added_ += amount;
      peak_ = std::max(peak_, current());
    }
    void remove(std::uint64_t amount) noexcept {
      removed_.fetch_add(amount, std::memory_order_relaxed);
    }
    Tally tally() const {
      return {current(), peak_, static_cast<std::int64_t>(added_ - added_before_),
              static_cast<std::int64_t>(removed() - removed_before_)};
    }
    void reset_peak() { peak_ = current(); }
    void reset_accumulated() {
      added_before_ = added_;
      removed_before_ = removed();
    }

   private:
    std::uint64_t removed() const { return removed_.load(std::memory_order_relaxed); }
    std::int64_t current() const { return static_cast<std::int64_t>(added_ - removed()); }

    std::uint64_t added_ = 0, added_before_ = 0, removed_before_ = 0;
    std::int64_t peak_ = 0;
    std::atomic<std::uint64_t> removed_{0};
  };

  static constexpr Bytes kBlock = 128_B;
  Line buffers_, requested_, bytes_;
};

}  // namespace spyre::lazy
