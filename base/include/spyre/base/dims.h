// spyre/base/dims.h — a short list of extents or strides, stored in place.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre {

/// Tensors of a higher rank take the host path unless their dimensions merge below this.
inline constexpr std::size_t kMaxRank = 12;

/// A value type; copies are memcpy. Throws Unsupported above kMaxRank.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values) {
    assign(std::span(values.begin(), values.size()));
  }
  constexpr explicit Dims(std::span<const std::int64_t> values) { assign(values); }
  static constexpr Dims filled(std::size_t rank, std::int64_t value) {
    Dims d;
    for (std::size_t i = 0; i < rank; ++i) d.push_back(value);
    return d;
  }

  constexpr std::size_t size() const { return rank_; }
  constexpr bool empty() const { return rank_ == 0; }
  constexpr std::int64_t& operator[](std::size_t i) { return values_[i]; }
  constexpr std::int64_t operator[](std::size_t i) const { return values_[i]; }
  constexpr std::int64_t* begin() { return values_.data(); }
  constexpr std::int64_t* end() { return values_.data() + rank_; }
  constexpr const std::int64_t* begin() const { return values_.data(); }
  constexpr const std::int64_t* end() const { return values_.data() + rank_; }
  constexpr std::int64_t back() const { return values_[rank_ - 1]; }
  constexpr std::span<const std::int64_t> span() const { return {values_.data(), rank_}; }

  constexpr void push_back(std::int64_t v) {
    if (rank_ == kMaxRank) throw Unsupported(str("rank above ", kMaxRank, " on the device"));
    values_[rank_++] = v;
  }
  constexpr void pop_back() { --rank_; }
  constexpr void resize(std::size_t rank, std::int64_t fill = 0) {
    while (rank_ > rank) pop_back();
    while (rank_ < rank) push_back(fill);
  }
  constexpr void reverse() { std::reverse(begin(), end()); }

  /// Product of the extents; 1 for rank 0.
  constexpr std::int64_t numel() const {
    std::int64_t n = 1;
    for (const std::int64_t v : *this) n *= v;
    return n;
  }

  friend constexpr bool operator==(const Dims& a, const Dims& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend std::ostream& operator<<(std::ostream& out, const Dims& d) {
    out << '[';
    for (std::size_t i = 0; i < d.size(); ++i) out << (i ? ", " : "") << d[i];
    return out << ']';
  }

 private:
  constexpr void assign(std::span<const std::int64_t> values) {
    for (const std::int64_t v : values) push_back(v);
  }
  std::array<std::int64_t, kMaxRank> values_{};
  std::uint8_t rank_ = 0;
};

/// Strides (in elements) of a dense row-major tensor.
constexpr Dims contiguous_strides(const Dims& sizes) {
  Dims strides = Dims::filled(sizes.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

}  // namespace spyre
