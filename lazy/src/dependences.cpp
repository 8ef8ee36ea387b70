// spyre/lazy/dependences.cpp — one scan in recorded order, a history per buffer.
//
// A write that covers earlier touches replaces them in the history: whatever comes after it and
// overlaps them overlaps it as well, so the order follows. That keeps histories short and the scan
// near linear.
#include "dependences.h"

#include <algorithm>
#include <ranges>

namespace spyre::lazy {
namespace {

/// How far back a read looks for another one of the same elements.
constexpr std::size_t kShareWindow = 4;

}  // namespace

Dependences::Dependences(const Graph& graph)
    : accesses_(graph.operands.size()),
      definitions_(graph.operands.size(), kNone),
      overwritten_(graph.nodes.size(), 0) {
  std::vector<History> histories(graph.buffers.size());
  in_begin_.reserve(graph.nodes.size() + 1);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    in_begin_.push_back(static_cast<std::uint32_t>(in_.size()));
    const Node& node = graph.nodes[n];
    if (node.dead) continue;
    const auto operands = graph.all_operands(node);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].is_view()) accesses_[node.first_operand + i] = access_of(graph, node, i);
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].is_view()) continue;
      const Touch touch{n, node.first_operand + i};
      History& history = histories[operands[i].index];
      if (i < node.input_count) read(history, touch);
      else write(history, touch);
    }
  }
  in_begin_.push_back(static_cast<std::uint32_t>(in_.size()));
  index_outgoing(graph.nodes.size());
}

void Dependences::Touches::add(Touch touch, const Access& access) {
  begin = list.empty() ? access.begin : std::min(begin, access.begin);
  end = list.empty() ? access.end : std::max(end, access.end);
  list.push_back(touch);
}

void Dependences::read(History& history, Touch touch) {
  const Access& mine = accesses_[touch.operand];
  bool obscured = false;
  for (const Touch& w : std::views::reverse(history.writes.list)) {
    if (!history.writes.near(mine)) break;
    const Access& theirs = accesses_[w.operand];
    const Relation relation = relate_to_write(theirs, mine);
    if (relation == Relation::Disjoint) continue;
    in_.push_back({w.node, touch.node, Dependence::Kind::Flow, relation, w.operand, touch.operand});
    if (relation != Relation::Conflict) {
      // An earlier write may define the value only if none in between touched it.
      if (!obscured) definitions_[touch.operand] = w.node;
      break;
    }
    obscured = true;
    if (theirs.covers(mine)) break;
  }
  std::size_t looked_at = 0;
  for (const Touch& r : std::views::reverse(history.reads.list)) {
    if (++looked_at > kShareWindow) break;
    if (r.node == touch.node || relate(accesses_[r.operand], mine) != Relation::Same) continue;
    in_.push_back(
        {r.node, touch.node, Dependence::Kind::Share, Relation::Same, r.operand, touch.operand});
    break;
  }
  history.reads.add(touch, mine);
}

void Dependences::write(History& history, Touch touch) {
  const Access& mine = accesses_[touch.operand];
  const auto order_behind = [&](Touches& touches, Dependence::Kind kind) {
    if (!touches.near(mine)) return;
    std::vector<Touch>& earlier = touches.list;
    std::size_t kept = 0;
    for (const Touch& t : earlier) {
      const Relation relation = relate_to_write(accesses_[t.operand], mine);
      if (relation == Relation::Disjoint) {
        earlier[kept++] = t;
        continue;
      }
      // A reader of broadcast elements needs them after this point of the loop: order whole nodes.
      if (t.node != touch.node)
        in_.push_back({t.node, touch.node, kind,
                       relation == Relation::Broadcast ? Relation::Conflict : relation, t.operand,
                       touch.operand});
      const bool covered = mine.covers(accesses_[t.operand]);
      if (covered && kind == Dependence::Kind::Output && t.node != touch.node)
        overwritten_[t.node] = 1;
      if (!covered) earlier[kept++] = t;
    }
    earlier.resize(kept);
  };
  order_behind(history.reads, Dependence::Kind::Anti);
  order_behind(history.writes, Dependence::Kind::Output);
  history.writes.add(touch, mine);
}

void Dependences::index_outgoing(std::size_t nodes) {
  out_begin_.assign(nodes + 1, 0);
  for (const Dependence& d : in_) ++out_begin_[d.from + 1];
  for (std::size_t n = 0; n < nodes; ++n) out_begin_[n + 1] += out_begin_[n];
  std::vector<std::uint32_t> next(out_begin_.begin(), out_begin_.end() - 1);
  out_.resize(in_.size());
  for (const Dependence& d : in_) out_[next[d.from]++] = d;
}

}  // namespace spyre::lazy
