// spyre/lazy/passes/fuse_panels.cpp — grows chains around products.
//
// A group joins if it walks over the chain's rows and touches what other members write only in its
// own rows. The chain runs where its last member stood: whatever lies between has nothing to do
// with it.
#include "fuse_panels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "../access.h"
#include "../chain_draft.h"

namespace spyre::lazy {
namespace {

constexpr std::size_t kReach = 24;  // groups looked at behind the last member

/// The kernel that computes the left operand of the product `groups[product]`, if it can go first.
std::optional<ChainDraft> begin_before(const Plan& plan, std::size_t product) {
  const Node& node = plan.graph.nodes[plan.groups[product].nodes.front()];
  const std::uint32_t left = plan.graph.inputs(node).front().index;
  const auto writes_left = [&](std::uint32_t n) {
    const auto outputs = plan.graph.outputs(plan.graph.nodes[n]);
    return std::ranges::any_of(outputs, [&](const Operand& o) { return o.index == left; });
  };
  for (std::size_t g = product; g-- > 0 && product - g <= kReach;) {
    if (!std::ranges::any_of(plan.groups[g].nodes, writes_left)) continue;
    ChainDraft draft(plan.graph, plan.groups[product]);
    if (plan.groups[g].library || !draft.join(plan.groups[g], g)) return std::nullopt;
    for (std::size_t between = g + 1; between < product; ++between)
      if (draft.concerns(plan.groups[between])) return std::nullopt;
    if (!draft.join(plan.groups[product], product)) return std::nullopt;
    return draft;
  }
  return std::nullopt;
}

/// Takes in what follows.
ChainDraft grow(const Plan& plan, std::size_t product, ChainDraft draft) {
  std::size_t last = product;
  for (std::size_t g = product + 1; g < plan.groups.size() && g - last <= kReach; ++g) {
    if (!draft.concerns(plan.groups[g])) continue;
    if (!draft.join(plan.groups[g], g)) break;
    last = g;
  }
  return draft;
}

/// The chain around the product `groups[product]` of groups that are free; none if it is not worth
/// it.
std::optional<ChainDraft> chain_around(const Plan& plan, std::size_t product,
                                       const std::vector<bool>& taken) {
  if (auto before = begin_before(plan, product); before && !taken[before->members().front()])
    return grow(plan, product, std::move(*before));
  ChainDraft alone(plan.graph, plan.groups[product]);
  if (!alone.join(plan.groups[product], product)) return std::nullopt;
  return grow(plan, product, std::move(alone));
}

}  // namespace

void fuse_panels(Plan& plan, Bytes scratchpad) {
  std::vector<Group> groups;
  std::vector<std::pair<std::size_t, Group>> chains;  // where they stand
  std::vector<bool> taken(plan.groups.size(), false);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    if (taken[g] || !ChainDraft::has_rows(plan.graph, plan.groups[g])) continue;
    const std::optional<ChainDraft> draft = chain_around(plan, g, taken);
    if (!draft) continue;
    const std::vector<std::size_t>& members = draft->members();
    if (std::ranges::any_of(members, [&](std::size_t m) { return taken[m]; })) continue;
    std::optional<Group> chain = draft->build(plan, scratchpad);
    if (!chain) continue;
    for (const std::size_t m : members) taken[m] = true;
    chains.emplace_back(members.back(), std::move(*chain));
  }
  if (chains.empty()) return;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto at = std::ranges::find(chains, g, [](const auto& c) { return c.first; });
    if (at != chains.end()) groups.push_back(std::move(at->second));
    else if (!taken[g]) groups.push_back(std::move(plan.groups[g]));
  }
  plan.groups = std::move(groups);
}

}  // namespace spyre::lazy
