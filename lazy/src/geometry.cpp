// spyre/lazy/geometry.cpp — interning by one multiplicative hash over the words that are stored
// anyway.
#include "spyre/lazy/geometry.h"

namespace spyre::lazy {
namespace {

std::int64_t header_of(ElementType type, std::size_t rank) {
  return static_cast<std::int64_t>(rank | std::uint64_t{type.dtype} << 8 |
                                   std::uint64_t{type.size} << 16 | std::uint64_t{type.code} << 24);
}

std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9E37'79B9'7F4A'7C15ULL;
  return h ^ (h >> 29);
}

std::uint64_t hash_words(std::int64_t header, std::int64_t offset,
                         std::span<const std::int64_t> sizes,
                         std::span<const std::int64_t> strides) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(header), static_cast<std::uint64_t>(offset));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    h = mix(h,
            static_cast<std::uint64_t>(sizes[i]) + (static_cast<std::uint64_t>(strides[i]) << 32 |
                                                    static_cast<std::uint64_t>(strides[i]) >> 32));
  return h;
}

}  // namespace

std::uint32_t GeometryTable::intern(ElementType type, std::int64_t offset,
                                    std::span<const std::int64_t> sizes,
                                    std::span<const std::int64_t> strides) {
  const std::int64_t header = header_of(type, sizes.size());
  if (!starts_.empty() && matches(last_, header, offset, sizes, strides)) return last_;
  const std::uint64_t hash = hash_words(header, offset, sizes, strides);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at].generation == generation_; at = (at + 1) & mask)
    if (matches(slots_[at].index, header, offset, sizes, strides)) return last_ = slots_[at].index;
  last_ = append(header, offset, sizes, strides);
  hashes_.push_back(hash);
  if (starts_.size() * 2 > slots_.size()) grow();
  else insert(hash, last_);
  return last_;
}

bool GeometryTable::matches(std::uint32_t index, std::int64_t header, std::int64_t offset,
                            std::span<const std::int64_t> sizes,
                            std::span<const std::int64_t> strides) const {
  const std::int64_t* words = words_.data() + starts_[index];
  if (words[0] != header || words[1] != offset) return false;
  words += 2;
  const std::size_t rank = sizes.size();
  for (std::size_t i = 0; i < rank; ++i)
    if (words[i] != sizes[i] || words[rank + i] != strides[i]) return false;
  return true;
}

std::uint32_t GeometryTable::append(std::int64_t header, std::int64_t offset,
                                    std::span<const std::int64_t> sizes,
                                    std::span<const std::int64_t> strides) {
  const auto index = static_cast<std::uint32_t>(starts_.size());
  starts_.push_back(static_cast<std::uint32_t>(words_.size()));
  words_.push_back(header);
  words_.push_back(offset);
  words_.insert(words_.end(), sizes.begin(), sizes.end());
  words_.insert(words_.end(), strides.begin(), strides.end());
  return index;
}

void GeometryTable::insert(std::uint64_t hash, std::uint32_t index) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].generation == generation_) at = (at + 1) & mask;
  slots_[at] = {generation_, index};
}

void GeometryTable::grow() {
  slots_.assign(slots_.size() * 2, {});
  generation_ = 1;
  for (std::uint32_t i = 0; i < hashes_.size(); ++i) insert(hashes_[i], i);
}

void GeometryTable::truncate(std::size_t count) {
  if (count >= starts_.size()) return;
  words_.resize(starts_[count]);
  starts_.resize(count);
  hashes_.resize(count);
}

void GeometryTable::clear() {
  words_.clear();
  starts_.clear();
  hashes_.clear();
  if (++generation_ == 0) {  // wrapped: old marks could look fresh
    slots_.assign(slots_.size(), {});
    generation_ = 1;
  }
}

}  // namespace spyre::lazy
