// spyre/lazy/arena_layout.h — offsets in an arena that grows as needed: best fit, freed blocks
// coalesce.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace spyre::lazy {

/// Plans offsets only; owns no memory. A value.
class ArenaLayout {
 public:
  static constexpr std::uint64_t kAlignment = 128;  // a block of the card

  std::uint64_t take(std::uint64_t bytes) {
    bytes = rounded(bytes);
    auto best = free_.end();
    for (auto at = free_.begin(); at != free_.end(); ++at)
      if (at->second >= bytes && (best == free_.end() || at->second < best->second)) best = at;
    if (best == free_.end()) return grow(bytes);
    const std::uint64_t offset = best->first, left = best->second - bytes;
    free_.erase(best);
    if (left != 0) free_.emplace(offset + bytes, left);
    return offset;
  }

  void give_back(std::uint64_t offset, std::uint64_t bytes) {
    const auto at = free_.emplace(offset, rounded(bytes)).first;
    if (const auto next = std::next(at);
        next != free_.end() && at->first + at->second == next->first) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at == free_.begin()) return;
    if (const auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }

  std::uint64_t size() const { return end_; }

 private:
  static std::uint64_t rounded(std::uint64_t bytes) {
    return (std::max<std::uint64_t>(bytes, 1) + kAlignment - 1) & ~(kAlignment - 1);
  }

  /// Extends the free block at the end, if there is one.
  std::uint64_t grow(std::uint64_t bytes) {
    std::uint64_t offset = end_;
    if (!free_.empty())
      if (const auto last = std::prev(free_.end()); last->first + last->second == end_) {
        offset = last->first;
        free_.erase(last);
      }
    end_ = offset + bytes;
    return offset;
  }

  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes
  std::uint64_t end_ = 0;
};

}  // namespace spyre::lazy
