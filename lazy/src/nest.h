// spyre/lazy/nest.h — a group's loop nest: form, and the space members refine to.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "spyre/kernels/kernel_spec.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// Pointwise: `outer` alone. Row: outer x reduced. Column: outer x reduced x inner. A plain value.
struct Nest {
  kernels::Form form = kernels::Form::Pointwise;
  bool library = false;
  Dims outer;
  std::int64_t reduced = 1;
  Dims inner;

  bool reduces() const { return form != kernels::Form::Pointwise; }
  /// Points of the whole nest, and points where a reduction's results live.
  std::int64_t points() const { return kept_points() * reduced; }
  std::int64_t kept_points() const { return outer.numel() * inner.numel(); }
  /// Extents of the nest, outermost first: outer, then the reduced one (unless Pointwise), then
  /// inner.
  Dims extents() const;
  /// The same without the reduced one.
  Dims kept() const;
  friend bool operator==(const Nest&, const Nest&) = default;
};

/// The nest that holds both, at element or at result level; or none, and then `why`.
std::optional<Nest> unify(const Nest& a, const Nest& b, Refusal& why);

/// A node by itself: its nest, coalesced, and each operand's strides over nest.extents().
struct NodeNest {
  Nest nest;
  std::vector<Dims> strides;  // parallel to graph.all_operands(node); 0 for scalars
  bool reordered = false;     // the loops are not in the logical order of the node's sizes any more
};
NodeNest nest_of(const Graph& graph, const Node& node);

/// Where a member's points lie in its group's nest.
kernels::Level level_in(const Nest& member, const Nest& group);
/// A member operand's strides over group.extents(): refined, and 0 along the reduced dimension at
/// result level.
Dims strides_in(const Nest& member, const Dims& strides, const Nest& group);

}  // namespace spyre::lazy
