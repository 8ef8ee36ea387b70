// spyre/lazy/partition.h — the live nodes in groups that run one after the other.
//
// Invariant: groups have distinct positions, and every dependence goes from a lower position to a
// higher one or stays inside a group, where it must hold point by point. Merging keeps it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "dependences.h"
#include "nest.h"
#include "spyre/base/bytes.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// The bounds of one kernel: code size, pointer registers, scratchpad, and when a row is worth more
/// than one core.
struct FusionLimits {
  std::size_t nodes = 64;
  std::int64_t inner_loop = 16;  // points: what reordering loops must leave innermost
  std::size_t arguments = 24;
  std::int64_t long_item =
      32'768;  // points that one core works on alone, because they share a reduction
  std::int64_t few_items = 8;  // fewer long items are not fused: they would leave cores idle
  Bytes scratchpad;
};

/// Members and what is known of them together.
struct GroupDraft {
  std::vector<std::uint32_t> nodes{};  // in recorded order
  Nest nest{};
  std::uint32_t position = 0;
  std::vector<std::uint32_t> before{},
      after{};  // some node of each group that must run before / after this one
  Refusal refusal{};
  std::uint32_t refused = 0;
};

/// Starts with one group per node; passes merge. Confined to the compiling thread.
class Partition {
 public:
  Partition(const Graph& graph, const FusionLimits& limits);

  const Graph& graph() const { return graph_; }
  const Dependences& dependences() const { return dependences_; }
  const NodeNest& nest(std::uint32_t node) const { return nests_[node]; }
  /// The group a node is in, named by one of its members. Follows merges.
  std::uint32_t group_of(std::uint32_t node) const;
  const GroupDraft& draft(std::uint32_t group) const { return drafts_[group]; }
  std::size_t group_count() const { return group_count_; }
  /// Group names by position.
  std::vector<std::uint32_t> in_order() const;

  /// Merges the groups of two nodes into one kernel of form `form`, if that is legal and within
  /// limits.
  bool try_merge(std::uint32_t a, std::uint32_t b, kernels::Form form);

  /// True if the bytes that a member writes are read outside its group, or can be seen after the
  /// trace; also for a node that runs for its fault.
  bool must_store(std::uint32_t node) const;

 private:
  /// A group's loops, to be put back.
  struct GroupLoops {
    Nest nest{};
    std::vector<NodeNest> members;
  };

  bool may_fault(std::uint32_t group) const;
  bool refuse(std::uint32_t earlier, std::uint32_t later, Refusal reason);
  /// Where the merged group would stand; kNone if a group in between forbids it.
  std::uint32_t merged_position(std::uint32_t earlier, std::uint32_t later) const;
  /// The nest in which both groups' dependences hold point by point.
  std::optional<Nest> common_nest(std::uint32_t earlier, std::uint32_t later, Refusal& why) const;
  bool aligned(std::uint32_t earlier, std::uint32_t later, const Nest& merged) const;
  bool holds_pointwise(const Dependence& d, const Nest& merged) const;
  Dims strides_of(std::uint32_t node, std::uint32_t operand, const Nest& nest) const;
  /// Lets the loops of a pointwise group follow those of `leader` along a buffer that both touch.
  bool reorder(std::uint32_t group, std::uint32_t leader, const Dependence& shared);
  const Dependence* permuted_dependence(std::uint32_t earlier, std::uint32_t later) const;
  GroupLoops loops_of(std::uint32_t group) const;
  void restore(std::uint32_t group, const GroupLoops& loops);
  bool merge_aligned(std::uint32_t earlier, std::uint32_t later, std::uint32_t position,
                     Refusal& why);
  bool merge_reordered(std::uint32_t earlier, std::uint32_t later, std::uint32_t position,
                       Refusal& why);
  bool within_limits(const GroupDraft& merged, Refusal& why) const;
  bool occupies_cores(const Nest& nest) const;
  bool reductions_see_elements(const GroupDraft& merged) const;
  std::size_t count_arguments(const GroupDraft& merged) const;
  void replace(std::uint32_t name, std::uint32_t joining, GroupDraft merged);

  const Graph& graph_;
  FusionLimits limits_;
  Dependences dependences_;
  std::vector<NodeNest> nests_;
  std::vector<GroupDraft> drafts_;     // by name; empty for dead nodes and merged groups
  std::vector<std::uint32_t> parent_;  // union-find over node numbers
  std::size_t group_count_ = 0;
};

}  // namespace spyre::lazy
