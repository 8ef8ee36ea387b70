// spyre/lazy/nest.cpp — see nest.h.
#include "nest.h"

#include <bit>

#include "spyre/lazy/iteration_space.h"

namespace spyre::lazy {
namespace {

using kernels::Form;

std::optional<Nest> refused(Refusal reason, Refusal& why) {
  why = reason;
  return std::nullopt;
}

/// `nest`, refined so that `space` (as many points) refines to it.
std::optional<Nest> refine_all(const Nest& nest, const Dims& space, Refusal& why) {
  const auto refined = common_refinement(nest.extents(), space);
  if (!refined) return refused(Refusal::Shape, why);
  Nest result = nest;
  const auto head = split_space(*refined, nest.outer.numel());
  if (!nest.reduces()) {
    result.outer = *refined;
    return result;
  }
  // The reduced dimension is one loop with one stride: it cannot be cut.
  if (!head || head->tail.empty() || head->tail[0] != nest.reduced)
    return refused(Refusal::Form, why);
  result.outer = head->head;
  result.inner = Dims(head->tail.span().subspan(1));
  return result;
}

std::optional<Nest> refine_kept(const Nest& nest, const Dims& space, Refusal& why) {
  const auto refined = common_refinement(nest.kept(), space);
  if (!refined || refined->size() == kMaxRank)
    return refused(Refusal::Shape, why);  // room for the reduced one
  const auto split = split_space(*refined, nest.outer.numel());
  Nest result = nest;
  result.outer = split->head;
  result.inner = split->tail;
  return result;
}

/// The dimensions [begin, end) of a nest by themselves, coalesced.
struct Part {
  Dims extents;
  std::vector<Dims> strides;  // per operand
};

Part part_of(const Dims& sizes, const std::vector<Dims>& strides, std::size_t begin,
             std::size_t end) {
  Part part{Dims(sizes.span().subspan(begin, end - begin)), {}};
  for (const Dims& s : strides) part.strides.emplace_back(s.span().subspan(begin, end - begin));
  coalesce(part.extents, part.strides);
  return part;
}

/// Before, along and behind the reduced run; nothing merges across its borders.
NodeNest reduction_nest(const Node& node, const std::vector<Dims>& strides) {
  const auto first = static_cast<std::size_t>(std::countr_zero(node.reduced));
  const std::size_t last = first + static_cast<std::size_t>(std::popcount(node.reduced));
  const Part outer = part_of(node.sizes, strides, 0, first);
  Part run = part_of(node.sizes, strides, first, last);
  const Part inner = part_of(node.sizes, strides, last, node.sizes.size());
  ensure(run.extents.size() <= 1, "a reduction's input run has one stride");
  if (run.extents.empty())  // its extents are all 1: it stays a loop
    for (Dims& s : run.strides) s.push_back(0);

  NodeNest result;
  result.nest.form = node.kind == Node::Kind::Row ? Form::Row : Form::Column;
  result.nest.outer = outer.extents;
  result.nest.reduced = run.extents.numel();
  result.nest.inner = inner.extents;
  for (std::size_t i = 0; i < strides.size(); ++i)
    result.strides.push_back(concat(concat(outer.strides[i], run.strides[i]), inner.strides[i]));
  return result;
}

}  // namespace

Dims Nest::extents() const {
  Dims all = outer;
  if (reduces()) all.push_back(reduced);
  return concat(all, inner);
}

Dims Nest::kept() const { return concat(outer, inner); }

std::optional<Nest> unify(const Nest& a, const Nest& b, Refusal& why) {
  if (a.library || b.library) return refused(Refusal::Library, why);
  if (!a.reduces() && b.reduces()) return unify(b, a, why);
  if (!b.reduces()) {
    if (a.reduces() && a.reduced == 1)
      return refused(Refusal::Form, why);  // element and result would look alike
    if (b.points() == a.points()) return refine_all(a, b.outer, why);
    if (b.points() == a.kept_points()) return refine_kept(a, b.outer, why);
    return refused(Refusal::Shape, why);
  }
  if (a.form != b.form || a.reduced != b.reduced || a.reduced == 1)
    return refused(Refusal::Form, why);
  if (a.outer.numel() != b.outer.numel()) return refused(Refusal::Shape, why);
  return refine_all(a, b.extents(), why);
}

NodeNest nest_of(const Graph& graph, const Node& node) {
  NodeNest result;
  result.nest.library = node.kind == Node::Kind::Library;
  if (result.nest.library) return result;
  result.strides.reserve(graph.all_operands(node).size());
  // Scalars take part as operands that never move.
  for (const Operand& o : graph.all_operands(node))
    result.strides.push_back(o.kind == Operand::Kind::Scalar ? Dims::filled(node.sizes.size(), 0)
                                                             : o.strides);
  if (node.is_reduction()) return reduction_nest(node, result.strides);
  result.nest.outer = node.sizes;
  coalesce(result.nest.outer, result.strides);
  return result;
}

kernels::Level level_in(const Nest& member, const Nest& group) {
  const bool result =
      !member.reduces() && group.reduces() && member.points() == group.kept_points();
  return result && group.reduced != 1 ? kernels::Level::Result : kernels::Level::Element;
}

Dims strides_in(const Nest& member, const Dims& strides, const Nest& group) {
  if (level_in(member, group) == kernels::Level::Element) {
    // A reduced extent of 1 is no dimension of a space; it stands alone in its group, unrefined.
    return member == group ? strides : split_strides(member.extents(), strides, group.extents());
  }
  const Dims kept = split_strides(member.outer, strides, group.kept());
  Dims all(kept.span().first(group.outer.size()));
  all.push_back(0);
  return concat(all, Dims(kept.span().subspan(group.outer.size())));
}

}  // namespace spyre::lazy
