// spyre/lazy/partition.cpp — see partition.h.
#include "partition.h"

#include <algorithm>
#include <numeric>

#include "reordering.h"
#include "spec_builder.h"
#include "spyre/kernels/kernel.h"

namespace spyre::lazy {
namespace {

using kernels::Form;

std::vector<std::uint32_t> joined(const std::vector<std::uint32_t>& a,
                                  const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> all(a.size() + b.size());
  std::ranges::merge(a, b, all.begin());
  return all;
}

/// Whether a pass that makes kernels of one form may merge these two.
bool concerns(Form form, const Nest& a, const Nest& b) {
  const auto foreign = [&](const Nest& nest) { return nest.reduces() && nest.form != form; };
  return (a.form == form || b.form == form) && !foreign(a) && !foreign(b);
}

}  // namespace

Partition::Partition(const Graph& graph, const FusionLimits& limits)
    : graph_(graph),
      limits_(limits),
      dependences_(graph),
      drafts_(graph.nodes.size()),
      parent_(graph.nodes.size()) {
  std::iota(parent_.begin(), parent_.end(), 0U);
  nests_.reserve(graph.nodes.size());
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    nests_.push_back(graph.nodes[n].dead ? NodeNest{} : nest_of(graph, graph.nodes[n]));
    if (graph.nodes[n].dead) continue;
    ++group_count_;
    GroupDraft& draft = drafts_[n];
    draft.nodes = {n};
    draft.nest = nests_[n].nest;
    draft.position = n;
    draft.before.reserve(dependences_.into(n).size());
    draft.after.reserve(dependences_.out_of(n).size());
    for (const Dependence& d : dependences_.into(n))
      if (d.kind != Dependence::Kind::Share) draft.before.push_back(d.from);
    for (const Dependence& d : dependences_.out_of(n))
      if (d.kind != Dependence::Kind::Share) draft.after.push_back(d.to);
  }
}

std::uint32_t Partition::group_of(std::uint32_t node) const {
  while (parent_[node] != node)
    node = parent_[node];  // short: the smaller group always goes under the larger
  return node;
}

std::vector<std::uint32_t> Partition::in_order() const {
  std::vector<std::uint32_t> names;
  names.reserve(group_count_);
  for (std::uint32_t n = 0; n < drafts_.size(); ++n)
    if (!drafts_[n].nodes.empty()) names.push_back(n);
  std::ranges::sort(names, {}, [&](std::uint32_t g) { return drafts_[g].position; });
  return names;
}

bool Partition::try_merge(std::uint32_t a, std::uint32_t b, Form form) {
  a = group_of(a);
  b = group_of(b);
  if (a == b) return false;
  if (drafts_[a].position > drafts_[b].position) std::swap(a, b);
  const Nest &first = drafts_[a].nest, &second = drafts_[b].nest;
  if (!concerns(form, first, second)) {
    const bool rivals = first.reduces() && second.reduces() && first.form != second.form;
    return rivals && refuse(a, b, Refusal::Form);
  }
  if (may_fault(a) || may_fault(b)) return refuse(a, b, Refusal::Fault);
  const std::uint32_t position = merged_position(a, b);
  if (position == kNone) return refuse(a, b, Refusal::Order);
  if (drafts_[a].nodes.size() + drafts_[b].nodes.size() > limits_.nodes)
    return refuse(a, b, Refusal::Size);
  Refusal why{};
  if (merge_aligned(a, b, position, why) || merge_reordered(a, b, position, why)) return true;
  return refuse(a, b, why);
}

/// A kernel fails as a whole: a node that may fault takes no other with it.
bool Partition::may_fault(std::uint32_t group) const {
  return graph_.nodes[drafts_[group].nodes.front()].may_fault;
}

bool Partition::merge_aligned(std::uint32_t earlier, std::uint32_t later, std::uint32_t position,
                              Refusal& why) {
  const std::optional<Nest> nest = common_nest(earlier, later, why);
  if (!nest) return false;
  GroupDraft merged{.nodes = joined(drafts_[earlier].nodes, drafts_[later].nodes),
                    .nest = *nest,
                    .position = position};
  // Loads and stores are counted as if the merge had happened.
  const bool keep_earlier = drafts_[earlier].nodes.size() >= drafts_[later].nodes.size();
  const std::uint32_t name = keep_earlier ? earlier : later;
  const std::uint32_t joining = keep_earlier ? later : earlier;
  parent_[joining] = name;
  if (!within_limits(merged, why)) {
    parent_[joining] = joining;
    return false;
  }
  replace(name, joining, std::move(merged));
  return true;
}

bool Partition::merge_reordered(std::uint32_t earlier, std::uint32_t later, std::uint32_t position,
                                Refusal& why) {
  const Dependence* shared = permuted_dependence(earlier, later);
  if (shared == nullptr) return false;
  const GroupLoops before = loops_of(later);
  if (!reorder(later, earlier, *shared)) return false;
  if (merge_aligned(earlier, later, position, why)) return true;
  restore(later, before);
  return false;
}

bool Partition::refuse(std::uint32_t earlier, std::uint32_t later, Refusal reason) {
  GroupDraft& draft = drafts_[earlier];
  draft.refusal = reason;
  draft.refused = drafts_[later].nodes.front();
  return false;
}

std::uint32_t Partition::merged_position(std::uint32_t earlier, std::uint32_t later) const {
  const std::uint32_t low = drafts_[earlier].position, high = drafts_[later].position;
  const auto between = [&](std::uint32_t node) {
    const std::uint32_t position = drafts_[group_of(node)].position;
    return position > low && position < high;
  };
  if (std::ranges::none_of(drafts_[later].before, between)) return low;
  return std::ranges::none_of(drafts_[earlier].after, between) ? high : kNone;
}

std::optional<Nest> Partition::common_nest(std::uint32_t earlier, std::uint32_t later,
                                           Refusal& why) const {
  std::optional<Nest> nest = unify(drafts_[earlier].nest, drafts_[later].nest, why);
  if (!nest || aligned(earlier, later, *nest)) return nest;
  why = Refusal::Overlap;
  return std::nullopt;
}

bool Partition::aligned(std::uint32_t earlier, std::uint32_t later, const Nest& merged) const {
  const bool from_earlier = drafts_[earlier].nodes.size() < drafts_[later].nodes.size();
  const std::uint32_t other = from_earlier ? later : earlier;
  for (const std::uint32_t n : drafts_[from_earlier ? earlier : later].nodes) {
    for (const Dependence& d : dependences_.into(n))
      if (group_of(d.from) == other && !holds_pointwise(d, merged)) return false;
    for (const Dependence& d : dependences_.out_of(n))
      if (group_of(d.to) == other && !holds_pointwise(d, merged)) return false;
  }
  return true;
}

bool Partition::holds_pointwise(const Dependence& d, const Nest& merged) const {
  if (d.kind == Dependence::Kind::Share) return true;
  if (d.relation == Relation::Conflict) return false;
  if (d.relation == Relation::Broadcast && merged.form != Form::Row) return false;
  if (!nests_[d.from].reordered && !nests_[d.to].reordered) return d.relation != Relation::Permuted;
  return strides_of(d.from, d.from_operand, merged) == strides_of(d.to, d.to_operand, merged);
}

Dims Partition::strides_of(std::uint32_t node, std::uint32_t operand, const Nest& nest) const {
  const NodeNest& member = nests_[node];
  return strides_in(member.nest, member.strides[operand - graph_.nodes[node].first_operand], nest);
}

const Dependence* Partition::permuted_dependence(std::uint32_t earlier, std::uint32_t later) const {
  for (const std::uint32_t n : drafts_[later].nodes)
    for (const Dependence& d : dependences_.into(n)) {
      const bool permuted =
          d.relation == Relation::Permuted ||
          (d.relation == Relation::Same && (nests_[d.from].reordered || nests_[n].reordered));
      if (permuted && d.kind != Dependence::Kind::Share && group_of(d.from) == earlier) return &d;
    }
  return nullptr;
}

bool Partition::reorder(std::uint32_t group, std::uint32_t leader, const Dependence& shared) {
  GroupDraft& draft = drafts_[group];
  if (draft.nest.reduces() || draft.nest.library || drafts_[leader].nest.library) return false;
  const Nest& lead = drafts_[leader].nest;
  const auto loops = follow(lead.extents(), strides_of(shared.from, shared.from_operand, lead),
                            draft.nest.outer, strides_of(shared.to, shared.to_operand, draft.nest));
  // A true transposition would trade streaming accesses of one kernel for strided ones of another.
  if (!loops || !loops->keeps_inner || loops->extents().back() < limits_.inner_loop) return false;
  for (const std::uint32_t n : draft.nodes) {
    NodeNest& member = nests_[n];
    for (Dims& s : member.strides) s = loops->strides(strides_in(member.nest, s, draft.nest));
    member.nest.outer = loops->extents();
    member.reordered = true;
  }
  draft.nest.outer = loops->extents();
  return true;
}

Partition::GroupLoops Partition::loops_of(std::uint32_t group) const {
  GroupLoops loops{.nest = drafts_[group].nest, .members = {}};
  for (const std::uint32_t n : drafts_[group].nodes) loops.members.push_back(nests_[n]);
  return loops;
}

void Partition::restore(std::uint32_t group, const GroupLoops& loops) {
  drafts_[group].nest = loops.nest;
  for (std::size_t i = 0; i < loops.members.size(); ++i)
    nests_[drafts_[group].nodes[i]] = loops.members[i];
}

bool Partition::within_limits(const GroupDraft& merged, Refusal& why) const {
  why = Refusal::Size;
  if (merged.nodes.size() > limits_.arguments / 4 && count_arguments(merged) > limits_.arguments)
    return false;
  if (!merged.nest.reduces()) return true;
  why = Refusal::Form;
  if (!reductions_see_elements(merged)) return false;
  why = Refusal::Parallelism;
  if (!occupies_cores(merged.nest)) return false;
  if (merged.nest.form != Form::Row) return true;
  why = Refusal::Scratchpad;
  // No kernel keeps more than two values per member and element; most are far below that.
  const auto most = static_cast<std::uint64_t>(merged.nest.reduced) * merged.nodes.size() * 2 *
                    sizeof(std::int64_t);
  if (most <= limits_.scratchpad.count) return true;
  const Group group = build_group(*this, merged);
  return kernels::scratch_bytes(group.spec, group.extents.begin()) <= limits_.scratchpad;
}

/// Pointwise work divides at will; what shares a reduction does not.
bool Partition::occupies_cores(const Nest& nest) const {
  std::int64_t items = nest.kept_points();
  if (nest.form == Form::Column) {
    const std::int64_t columns = nest.inner.empty() ? 1 : nest.inner.back(),
                       block = kernels::Kernel::kColumnBlock;
    items = items / columns * ((columns + block - 1) / block);
  }
  return items >= limits_.few_items || nest.points() / items <= limits_.long_item;
}

/// A kernel computes what does not vary along the row once per row; a reduction must not be fed
/// that.
bool Partition::reductions_see_elements(const GroupDraft& merged) const {
  const std::uint32_t group = group_of(merged.nodes.front());
  std::vector<bool> varies(merged.nodes.size());
  for (std::size_t i = 0; i < merged.nodes.size(); ++i) {
    const Node& node = graph_.nodes[merged.nodes[i]];
    const bool element =
        level_in(nests_[merged.nodes[i]].nest, merged.nest) == kernels::Level::Element;
    bool input_varies = false;
    for (std::size_t k = 0; k < node.input_count; ++k) {
      const Operand& operand = graph_.operands[node.first_operand + k];
      if (operand.kind == Operand::Kind::Scalar) continue;
      const std::uint32_t from = dependences_.definition(node.first_operand + k);
      if (from == kNone || group_of(from) != group) {
        input_varies = input_varies || element;
        continue;
      }
      const auto at = std::ranges::lower_bound(merged.nodes, from) - merged.nodes.begin();
      input_varies = input_varies || varies[static_cast<std::size_t>(at)];
    }
    if (node.is_reduction() && !input_varies) return false;
    varies[i] = input_varies && !node.is_reduction();
  }
  return true;
}

std::size_t Partition::count_arguments(const GroupDraft& merged) const {
  const std::uint32_t group = group_of(merged.nodes.front());
  std::vector<std::size_t> loads;  // distinct ones, as operand numbers
  std::size_t stores = 0;
  for (const std::uint32_t n : merged.nodes) {
    stores += must_store(n);
    const Node& node = graph_.nodes[n];
    for (std::size_t k = node.first_operand; k < node.first_operand + node.input_count; ++k) {
      const Operand& operand = graph_.operands[k];
      const std::uint32_t from = dependences_.definition(k);
      if (operand.kind == Operand::Kind::Scalar || (from != kNone && group_of(from) == group))
        continue;
      const bool known = operand.is_view() && std::ranges::any_of(loads, [&](std::size_t l) {
                           const Access &a = dependences_.access(l), &b = dependences_.access(k);
                           return graph_.operands[l].is_view() && a.buffer == b.buffer &&
                                  relate(a, b) == Relation::Same;
                         });
      if (!known) loads.push_back(k);
    }
  }
  return loads.size() + stores;
}

bool Partition::must_store(std::uint32_t node) const {
  if (graph_.nodes[node].may_fault) return true;
  const Operand& output = graph_.output(graph_.nodes[node]);
  if (graph_.buffers[output.index].observable && !dependences_.overwritten(node)) return true;
  const std::uint32_t group = group_of(node);
  return std::ranges::any_of(dependences_.out_of(node), [&](const Dependence& d) {
    return d.kind == Dependence::Kind::Flow && group_of(d.to) != group;
  });
}

void Partition::replace(std::uint32_t name, std::uint32_t joining, GroupDraft merged) {
  --group_count_;
  GroupDraft &a = drafts_[name], &b = drafts_[joining];
  const auto neighbours = [&](const std::vector<std::uint32_t>& x,
                              const std::vector<std::uint32_t>& y) {
    std::vector<std::uint32_t> groups;
    groups.reserve(x.size() + y.size());
    for (const auto* list : {&x, &y})
      for (const std::uint32_t n : *list) groups.push_back(group_of(n));
    std::ranges::sort(groups);
    const auto repeats = std::ranges::unique(groups);
    groups.erase(repeats.begin(), repeats.end());
    std::erase(groups, name);
    return groups;
  };
  merged.before = neighbours(a.before, b.before);
  merged.after = neighbours(a.after, b.after);
  b = {};
  a = std::move(merged);
}

}  // namespace spyre::lazy
