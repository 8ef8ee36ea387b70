// spyre/device_sim/block_allocator.h — hands out runs of blocks; touches no memory.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/device_sim/block.h"

namespace spyre::device_sim {

/// An allocator over [0, range). Freed runs are kept in two places that answer an equal request in
/// O(1): stacks per size for small runs, and the latest few large runs. What is not found there
/// comes from the other free runs by best fit, O(log n); these are coalesced with their neighbours.
/// Small runs are cut from the end of a free run and large ones from its start, so that small ones
/// do not split the large. Confined to its owner's lock.
class BlockAllocator {
 public:
  explicit BlockAllocator(Bytes range, Bytes block = kBlock);

  /// Offset of a run that holds `length`, rounded up to whole blocks (at least one). nullopt: no
  /// run is long enough.
  std::optional<Bytes> allocate(Bytes length);
  /// `length` as it was requested. Freeing anything but the start of an allocated run is an
  /// InternalError.
  void free(Bytes offset, Bytes length);

  Bytes rounded(Bytes length) const;
  Bytes range() const { return range_; }
  Bytes allocated() const { return allocated_; }
  Bytes largest_free() const;
  /// Gives every kept run back to best fit. allocate() does so by itself before it fails.
  void coalesce();
  /// Calls with (offset, length) of each free run that is not kept for an equal request.
  void visit_free_runs(const std::function<void(Bytes, Bytes)>& visit) const;
  /// The whole range in order.
  std::vector<Block> blocks() const;

 private:
  struct Run {
    std::uint64_t offset, length;
  };
  static constexpr std::size_t kSmallClasses = 512;  // up to 64 KiB in blocks of 128 bytes
  static constexpr std::size_t kStackDepth = 1024;   // kept runs per small size
  static constexpr std::size_t kLargeKept = 16;

  std::size_t class_of(std::uint64_t length) const { return (length >> block_shift_) - 1; }
  /// One bit per block, in pages that exist once they are needed: where allocated runs start.
  class Starts {
   public:
    explicit Starts(std::uint64_t blocks) : pages_(blocks / kBits + 1) {}
    void set(std::uint64_t block);
    bool clear(std::uint64_t block);  // whether it was set
    bool test(std::uint64_t block) const;

   private:
    static constexpr std::uint64_t kBits = 1 << 15;
    using Page = std::array<std::uint64_t, kBits / 64>;
    std::vector<std::unique_ptr<Page>> pages_;
  };

  std::vector<Block> unallocated() const;
  void append_allocated(std::uint64_t from, std::uint64_t to, std::vector<Block>& out) const;
  std::optional<std::uint64_t> take_kept(std::uint64_t length);
  std::optional<std::uint64_t> take_best_fit(std::uint64_t length);
  void keep_large(Run run);
  void insert_free(Run run);
  void erase_free(std::map<std::uint64_t, std::uint64_t>::iterator run);

  Bytes range_, allocated_{};
  unsigned block_shift_;
  Starts starts_;
  std::array<std::vector<std::uint64_t>, kSmallClasses> small_;
  std::array<Run, kLargeKept> large_{};  // length 0: vacant
  std::size_t large_cursor_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_length_;  // (length, offset)
};

}  // namespace spyre::device_sim
