// spyre/lazy/passes/duplicates.cpp — value numbering over buffers and versions.
//
// A buffer's version counts the writes to it so far. Two nodes are equal if their operations,
// shapes and scalar slots are and their views lie in equal versions. Scalars with different slots
// are different: their values are not known here.
#include "duplicates.h"

#include <numeric>
#include <unordered_map>

namespace spyre::lazy {
namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

/// Confined to one call of duplicates().
class ValueNumbering {
 public:
  explicit ValueNumbering(Graph& graph)
      : graph_(graph),
        versions_(graph.buffers.size()),
        writes_(graph.buffers.size()),
        stand_in_(graph.buffers.size()),
        read_versions_(graph.operands.size()) {
    std::iota(stand_in_.begin(), stand_in_.end(), 0U);
    for (const Node& node : graph.nodes)
      if (!node.dead)
        for (const Operand& o : graph.outputs(node)) ++writes_[o.index];
  }

  void run() {
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (!graph_.nodes[n].dead) visit(n);
  }

 private:
  void visit(std::uint32_t n) {
    Node& node = graph_.nodes[n];
    for (std::size_t i = 0; i < node.input_count; ++i) {
      Operand& o = graph_.operands[node.first_operand + i];
      if (!o.is_view()) continue;
      o.index = stand_in_[o.index];
      read_versions_[node.first_operand + i] = versions_[o.index];
    }
    if (node.kind != Node::Kind::Library && merge_with_equal(n)) return;
    for (const Operand& o : graph_.outputs(node)) ++versions_[o.index];
  }

  bool merge_with_equal(std::uint32_t n) {
    Node& node = graph_.nodes[n];
    const auto [first, last] = known_.equal_range(hash(node));
    for (auto at = first; at != last; ++at) {
      const Node& earlier = graph_.nodes[at->second];
      if (!equal(earlier, node) || !replaceable(graph_.output(earlier), graph_.output(node)))
        continue;
      stand_in_[graph_.output(node).index] = graph_.output(earlier).index;
      node.dead = true;
      return true;
    }
    known_.emplace(hash(node), n);
    return false;
  }

  /// Readers of `later` can read `earlier`: both hold that value from their single write to the end
  /// of the trace.
  bool replaceable(const Operand& earlier, const Operand& later) const {
    return earlier.index != later.index && earlier.dtype == later.dtype &&
           earlier.offset == later.offset && earlier.strides == later.strides &&
           writes_[earlier.index] == 1 && writes_[later.index] == 1 &&
           !graph_.buffers[later.index].observable &&
           graph_.buffers[earlier.index].bytes == graph_.buffers[later.index].bytes;
  }

  bool equal(const Node& a, const Node& b) const {
    if (a.kind != b.kind || a.op != b.op || a.reduction != b.reduction || a.compute != b.compute ||
        a.result != b.result || a.reduced != b.reduced || a.input_count != b.input_count ||
        !(a.sizes == b.sizes))
      return false;
    for (std::size_t i = 0; i < a.input_count; ++i) {
      const Operand &x = graph_.inputs(a)[i], &y = graph_.inputs(b)[i];
      if (x.kind != y.kind || x.dtype != y.dtype || x.index != y.index || x.offset != y.offset ||
          !(x.strides == y.strides) ||
          read_versions_[a.first_operand + i] != read_versions_[b.first_operand + i])
        return false;
    }
    return true;
  }

  std::uint64_t hash(const Node& node) const {
    std::uint64_t h = mix(static_cast<std::uint64_t>(node.kind), node.op.value);
    h = mix(h, static_cast<std::uint64_t>(node.reduction));
    for (const std::int64_t extent : node.sizes) h = mix(h, static_cast<std::uint64_t>(extent));
    for (std::size_t i = 0; i < node.input_count; ++i) {
      const Operand& o = graph_.inputs(node)[i];
      h = mix(h, o.index);
      h = mix(h, static_cast<std::uint64_t>(o.offset));
      h = mix(h, read_versions_[node.first_operand + i]);
    }
    return h;
  }

  Graph& graph_;
  std::vector<std::uint32_t> versions_, writes_;
  std::vector<std::uint32_t> stand_in_;       // per buffer: the one that is read in its place
  std::vector<std::uint32_t> read_versions_;  // per operand
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;
};

}  // namespace

Graph duplicates(Graph graph) {
  ValueNumbering(graph).run();
  return graph;
}

}  // namespace spyre::lazy
