// spyre/device_sim/block_allocator.cpp — recycled runs first, then best fit with coalescing.
#include "spyre/device_sim/block_allocator.h"

#include <algorithm>
#include <bit>

#include "spyre/base/error.h"

namespace spyre::device_sim {

BlockAllocator::BlockAllocator(Bytes range, Bytes block)
    : range_(range),
      block_shift_(static_cast<unsigned>(std::countr_zero(block.count))),
      starts_(range.count >> block_shift_) {
  ensure(std::has_single_bit(block.count), "a block size is a power of two");
  range_.count = range.count >> block_shift_ << block_shift_;
  if (range_.count != 0) insert_free({0, range_.count});
}

Bytes BlockAllocator::rounded(Bytes length) const {
  const Bytes block{1ULL << block_shift_};
  return std::max(block, length.rounded_up(block));
}

std::optional<Bytes> BlockAllocator::allocate(Bytes length) {
  if (length > range_) return std::nullopt;  // also keeps rounding from overflowing
  const std::uint64_t size = rounded(length).count;
  std::optional<std::uint64_t> offset = take_kept(size);
  if (!offset) offset = take_best_fit(size);
  if (!offset) {
    coalesce();
    offset = take_best_fit(size);
  }
  if (!offset) return std::nullopt;
  allocated_.count += size;
  starts_.set(*offset >> block_shift_);
  return Bytes{*offset};
}

void BlockAllocator::free(Bytes offset, Bytes length) {
  const Run run{offset.count, rounded(length).count};
  ensure(run.length <= allocated_.count && run.offset + run.length <= range_.count,
         "only allocated runs are freed");
  ensure(starts_.clear(run.offset >> block_shift_), "an allocated run is freed once");
  allocated_.count -= run.length;
  const std::size_t size_class = class_of(run.length);
  if (size_class >= kSmallClasses) return keep_large(run);
  if (small_[size_class].size() < kStackDepth) return small_[size_class].push_back(run.offset);
  insert_free(run);
}

std::optional<std::uint64_t> BlockAllocator::take_kept(std::uint64_t length) {
  const std::size_t size_class = class_of(length);
  if (size_class < kSmallClasses) {
    std::vector<std::uint64_t>& stack = small_[size_class];
    if (stack.empty()) return std::nullopt;
    const std::uint64_t offset = stack.back();
    stack.pop_back();
    return offset;
  }
  for (Run& run : large_) {
    if (run.length != length) continue;
    run.length = 0;
    return run.offset;
  }
  return std::nullopt;
}

void BlockAllocator::keep_large(Run run) {
  Run& oldest = large_[large_cursor_];
  large_cursor_ = (large_cursor_ + 1) % kLargeKept;
  if (oldest.length != 0) insert_free(oldest);
  oldest = run;
}

std::optional<std::uint64_t> BlockAllocator::take_best_fit(std::uint64_t length) {
  const auto fit = free_by_length_.lower_bound({length, 0});
  if (fit == free_by_length_.end()) return std::nullopt;
  const Run run{fit->second, fit->first};
  erase_free(free_by_offset_.find(run.offset));
  const std::uint64_t rest = run.length - length;
  const bool from_end = class_of(length) < kSmallClasses;
  if (rest != 0) insert_free({from_end ? run.offset : run.offset + length, rest});
  return from_end ? run.offset + rest : run.offset;
}

void BlockAllocator::insert_free(Run run) {
  auto next = free_by_offset_.lower_bound(run.offset);
  if (next != free_by_offset_.begin()) {
    const auto previous = std::prev(next);
    const std::uint64_t end = previous->first + previous->second;
    ensure(end <= run.offset, "a run is freed once");
    if (end == run.offset) {
      run = {previous->first, previous->second + run.length};
      erase_free(previous);
    }
  }
  if (next != free_by_offset_.end()) {
    ensure(run.offset + run.length <= next->first, "a run is freed once");
    if (run.offset + run.length == next->first) {
      run.length += next->second;
      erase_free(next);
    }
  }
  free_by_offset_.emplace(run.offset, run.length);
  free_by_length_.emplace(run.length, run.offset);
}

void BlockAllocator::erase_free(std::map<std::uint64_t, std::uint64_t>::iterator run) {
  free_by_length_.erase({run->second, run->first});
  free_by_offset_.erase(run);
}

void BlockAllocator::coalesce() {
  for (std::size_t size_class = 0; size_class < kSmallClasses; ++size_class) {
    for (const std::uint64_t offset : small_[size_class])
      insert_free({offset, (size_class + 1) << block_shift_});
    small_[size_class].clear();
  }
  for (Run& run : large_) {
    if (run.length != 0) insert_free(std::exchange(run, Run{}));
  }
}

Bytes BlockAllocator::largest_free() const {
  std::uint64_t largest = free_by_length_.empty() ? 0 : free_by_length_.rbegin()->first;
  for (const Run& run : large_) largest = std::max(largest, run.length);
  for (std::size_t size_class = kSmallClasses;
       size_class-- > 0 && largest < ((size_class + 1) << block_shift_);) {
    if (!small_[size_class].empty()) largest = (size_class + 1) << block_shift_;
  }
  return {largest};
}

void BlockAllocator::Starts::set(std::uint64_t block) {
  std::unique_ptr<Page>& page = pages_[block / kBits];
  if (!page) page = std::make_unique<Page>();
  (*page)[block % kBits / 64] |= 1ULL << block % 64;
}

bool BlockAllocator::Starts::clear(std::uint64_t block) {
  if (!test(block)) return false;
  (*pages_[block / kBits])[block % kBits / 64] &= ~(1ULL << block % 64);
  return true;
}

bool BlockAllocator::Starts::test(std::uint64_t block) const {
  const std::unique_ptr<Page>& page = pages_[block / kBits];
  return page && ((*page)[block % kBits / 64] >> block % 64 & 1) != 0;
}

std::vector<Block> BlockAllocator::unallocated() const {
  std::vector<Block> runs;
  for (const auto& [offset, length] : free_by_offset_)
    runs.push_back({{offset}, {length}, BlockState::Free});
  for (std::size_t size_class = 0; size_class < kSmallClasses; ++size_class)
    for (const std::uint64_t offset : small_[size_class])
      runs.push_back({{offset}, {(size_class + 1) << block_shift_}, BlockState::Kept});
  for (const Run& run : large_)
    if (run.length != 0) runs.push_back({{run.offset}, {run.length}, BlockState::Kept});
  std::ranges::sort(runs, {}, &Block::offset);
  return runs;
}

void BlockAllocator::append_allocated(std::uint64_t from, std::uint64_t to,
                                      std::vector<Block>& out) const {
  const std::uint64_t block = 1ULL << block_shift_;
  for (std::uint64_t offset = from; offset < to; offset += block) {
    if (starts_.test(offset >> block_shift_)) out.push_back({{offset}, {}, BlockState::Allocated});
    out.back().length.count += block;
  }
}

std::vector<Block> BlockAllocator::blocks() const {
  std::vector<Block> out;
  std::uint64_t end = 0;
  for (const Block& block : unallocated()) {
    append_allocated(end, block.offset.count, out);
    out.push_back(block);
    end = (block.offset + block.length).count;
  }
  append_allocated(end, range_.count, out);
  return out;
}

void BlockAllocator::visit_free_runs(const std::function<void(Bytes, Bytes)>& visit) const {
  for (const auto& [offset, length] : free_by_offset_) visit(Bytes{offset}, Bytes{length});
}

}  // namespace spyre::device_sim
