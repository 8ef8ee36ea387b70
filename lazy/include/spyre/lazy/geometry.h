// spyre/lazy/geometry.h — sizes, strides and offset of an operand, stored once per trace and named
// by an index.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/base/dtype.h"

namespace spyre::lazy {

/// What kind of element an operand has. Library operands may have element types outside DType;
/// those have only a size and the engine's code.
struct ElementType {
  static constexpr std::uint8_t kForeign = 0xFF;
  std::uint8_t dtype = kForeign;
  std::uint8_t size = 0;
  std::uint8_t code = 0;
  static constexpr ElementType of(DType t) { return {static_cast<std::uint8_t>(t), size_of(t), 0}; }
  static constexpr ElementType foreign(std::uint8_t size, std::uint8_t code) {
    return {kForeign, size, code};
  }
  constexpr DType native() const { return static_cast<DType>(dtype); }
  friend constexpr bool operator==(ElementType, ElementType) = default;
};

/// A strided window: extents, strides (elements), offset (elements), element type. Points into its
/// table.
class Geometry {
 public:
  explicit Geometry(const std::int64_t* words) : words_(words) {}
  std::size_t rank() const { return static_cast<std::size_t>(words_[0] & 0xFF); }
  ElementType type() const {
    const auto header = static_cast<std::uint64_t>(words_[0]);
    return {static_cast<std::uint8_t>(header >> 8), static_cast<std::uint8_t>(header >> 16),
            static_cast<std::uint8_t>(header >> 24)};
  }
  DType dtype() const { return type().native(); }
  std::int64_t offset() const { return words_[1]; }
  std::span<const std::int64_t> sizes() const { return {words_ + 2, rank()}; }
  std::span<const std::int64_t> strides() const { return {words_ + 2 + rank(), rank()}; }

 private:
  const std::int64_t* words_;
};

/// Interns geometries: equal ones get the same index, indices count from 0 in order of first use,
/// and the table's words are canonical (they are part of the trace's key). Allocates nothing once
/// warm. Confined to its trace.
class GeometryTable {
 public:
  std::uint32_t intern(ElementType type, std::int64_t offset, std::span<const std::int64_t> sizes,
                       std::span<const std::int64_t> strides);
  Geometry operator[](std::uint32_t index) const {
    return Geometry(words_.data() + starts_[index]);
  }
  std::size_t size() const { return starts_.size(); }
  /// Equal for equal geometries, in any table.
  std::uint64_t hash_of(std::uint32_t index) const { return hashes_[index]; }
  std::span<const std::int64_t> words() const { return words_; }
  void clear();
  /// Keeps the first `count`. Nothing may be interned before the next clear().
  void truncate(std::size_t count);

 private:
  struct Slot {
    std::uint32_t generation = 0, index = 0;
  };
  bool matches(std::uint32_t index, std::int64_t header, std::int64_t offset,
               std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) const;
  std::uint32_t append(std::int64_t header, std::int64_t offset,
                       std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);
  void grow();
  void insert(std::uint64_t hash, std::uint32_t index);

  std::vector<std::int64_t> words_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Slot> slots_ = std::vector<Slot>(256);
  std::uint32_t generation_ = 1;  // a slot of an older generation is empty: clear() touches nothing
  std::uint32_t last_ = 0;        // the geometry asked for last: operands of one op often share it
};

}  // namespace spyre::lazy
