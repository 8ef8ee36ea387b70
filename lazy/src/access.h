// spyre/lazy/access.h — which bytes an operand touches; how two accesses relate.
#pragma once
#include <cstdint>

#include "spyre/lazy/graph.h"

namespace spyre::lazy {

/// The address sequence of one view operand, in canonical form: fully coalesced by itself, so that
/// two accesses visit the same elements in the same order exactly if buffer, type, offset, extents
/// and strides are equal.
struct Access {
  std::uint32_t buffer = 0;
  DType dtype{};
  std::uint8_t element_size = 0;
  bool typed = true;                // false: a library operand, never the same as another
  bool dense = false;               // touches every byte of [begin, end), once
  std::int64_t begin = 0, end = 0;  // bytes
  std::int64_t offset = 0;          // elements
  Dims extents{}, strides{};        // elements

  /// True if every byte of `other` is touched by this one.
  bool covers(const Access& other) const;
  /// False only if no element is met twice. Windows that slide over a tensor meet most of theirs several times.
  bool may_meet_twice() const;
  /// Distinct bytes touched, if no two points with nonzero strides share one.
  std::int64_t distinct_bytes() const;
};

/// `position`: in graph.all_operands(node). A reduction's output has its reduced dimensions
/// removed.
Access access_of(const Graph& graph, const Node& node, std::size_t position);

enum class Relation : std::uint8_t {
  Disjoint,   // no byte in common
  Same,       // point for point the same element
  Permuted,   // the same elements, each once, in different orders
  Broadcast,  // `later` repeats each element of `earlier` along one further, innermost dimension
  Conflict,   // anything else
};

/// Exact for Same; Disjoint may be missed (then: Conflict). Both are in the same buffer.
Relation relate(const Access& earlier, const Access& later);

/// The same where one of them writes: point by point holds only if no element is met twice, since a later point may
/// overwrite what an earlier one needs.
Relation relate_to_write(const Access& earlier, const Access& later);

}  // namespace spyre::lazy
