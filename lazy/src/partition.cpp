// spyre/lazy/partition.cpp — see partition.h.
#include "partition.h"

#include <algorithm>
#include <numeric>

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
  const GroupDraft &earlier = drafts_[a], &later = drafts_[b];
  const bool involved = earlier.nest.form == form || later.nest.form == form;
  const bool foreign = (earlier.nest.reduces() && earlier.nest.form != form) ||
                       (later.nest.reduces() && later.nest.form != form);
  if (!involved || foreign) return false;  // another pass's business

  Refusal why{};
  const std::optional<Nest> nest = unify(earlier.nest, later.nest, why);
  if (!nest) return refuse(a, b, why);
  GroupDraft merged{.nest = *nest, .position = merged_position(a, b)};
  if (merged.position == kNone) return refuse(a, b, Refusal::Order);
  if (!aligned(a, b, *nest)) return refuse(a, b, Refusal::Overlap);
  if (earlier.nodes.size() + later.nodes.size() > limits_.nodes) return refuse(a, b, Refusal::Size);
  merged.nodes = joined(earlier.nodes, later.nodes);

  // Loads and stores are counted as if the merge had happened.
  const bool keep_earlier = earlier.nodes.size() >= later.nodes.size();
  const std::uint32_t name = keep_earlier ? a : b, joining = keep_earlier ? b : a;
  parent_[joining] = name;
  if (!within_limits(merged, why)) {
    parent_[joining] = joining;
    return refuse(a, b, why);
  }
  replace(name, joining, std::move(merged));
  return true;
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

bool Partition::aligned(std::uint32_t earlier, std::uint32_t later, const Nest& merged) const {
  const bool from_earlier = drafts_[earlier].nodes.size() < drafts_[later].nodes.size();
  const std::uint32_t other = from_earlier ? later : earlier;
  const auto holds = [&](const Dependence& d, std::uint32_t far_end) {
    if (d.kind == Dependence::Kind::Share || group_of(far_end) != other) return true;
    return d.relation == Relation::Same ||
           (d.relation == Relation::Broadcast && merged.form == Form::Row);
  };
  for (const std::uint32_t n : drafts_[from_earlier ? earlier : later].nodes) {
    for (const Dependence& d : dependences_.into(n))
      if (!holds(d, d.from)) return false;
    for (const Dependence& d : dependences_.out_of(n))
      if (!holds(d, d.to)) return false;
  }
  return true;
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
