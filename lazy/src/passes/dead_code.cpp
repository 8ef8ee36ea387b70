// spyre/lazy/passes/dead_code.cpp — one scan backwards with the set of live bytes of each buffer.
//
// At the end the bytes of observable buffers are live. A node with no live byte in its outputs is
// dead, unless it may fault: the fault is to be raised whoever reads the result. A live one ends the life of the bytes it overwrites and begins that of the bytes it reads.
// Sets are of intervals; what an access with holes touches counts as read whole, and as written not
// at all: never wrong, at times too careful.
#include "dead_code.h"

#include <algorithm>

#include "access.h"

namespace spyre::lazy {
namespace {

/// Disjoint half-open intervals of bytes, sorted.
class ByteSet {
 public:
  bool intersects(std::int64_t begin, std::int64_t end) const {
    const auto at = first_after(begin);
    return at != intervals_.end() && at->begin < end;
  }

  void add(std::int64_t begin, std::int64_t end) {
    auto first = std::ranges::lower_bound(intervals_, begin, {}, &Interval::end);
    auto last = first;
    for (; last != intervals_.end() && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    if (begin < end) intervals_.insert(intervals_.erase(first, last), {begin, end});
  }

  void remove(std::int64_t begin, std::int64_t end) {
    auto at = intervals_.begin() + (first_after(begin) - intervals_.cbegin());
    while (at != intervals_.end() && at->begin < end) {
      const Interval whole = *at;
      at = intervals_.erase(at);
      if (whole.end > end) at = intervals_.insert(at, {end, whole.end});
      if (whole.begin < begin) at = intervals_.insert(at, {whole.begin, begin}) + 1;
      if (whole.end > end) break;
    }
  }

 private:
  struct Interval {
    std::int64_t begin, end;
  };
  std::vector<Interval>::const_iterator first_after(std::int64_t begin) const {
    return std::ranges::upper_bound(intervals_, begin, {}, &Interval::end);
  }
  std::vector<Interval> intervals_;
};

/// Whether a node writes every byte of its output's buffer, which it finds without data.
bool fills(const Graph& graph, const Node& node, std::size_t position) {
  const Operand& output = graph.operands[position];
  const Dims& sizes = node.kind == Node::Kind::Library ? graph.library_sizes[position] : node.sizes;
  std::int64_t elements = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if ((node.reduced >> d & 1U) != 0 || sizes[d] == 1) continue;
    if (output.strides[d] != elements) return false;
    elements *= sizes[d];
  }
  const BufferFacts& buffer = graph.buffers[output.index];
  return output.offset == 0 && !buffer.written_before &&
         elements * output.element_size == buffer.highest();
}

/// What most traces are: no buffer is written twice, and what is written can be seen in the end, or fills a buffer of which
/// a later node reads something. Then every node is needed, and no sets of bytes are to be kept.
bool all_needed(const Graph& graph) {
  std::vector<bool> read(graph.buffers.size()), written(graph.buffers.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.dead) continue;
    const std::size_t outputs = node.first_operand + std::size_t{node.input_count};
    for (std::size_t i = outputs; i < outputs + node.output_count; ++i) {
      const std::uint32_t b = graph.operands[i].index;
      if (written[b] || (!graph.buffers[b].observable && !(read[b] && fills(graph, node, i))))
        return false;
      written[b] = true;
    }
    for (const Operand& o : graph.inputs(node))
      if (o.is_view()) read[o.index] = true;
  }
  return true;
}

}  // namespace

Graph dead_code(Graph graph) {
  if (all_needed(graph)) return graph;
  std::vector<Access> accesses;
  std::vector<ByteSet> live(graph.buffers.size());
  for (std::size_t b = 0; b < live.size(); ++b)
    if (graph.buffers[b].observable)
      live[b].add(graph.buffers[b].lowest(), graph.buffers[b].highest());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    if (node.dead) continue;
    const auto operands = graph.all_operands(node);
    accesses.assign(operands.size(), {});
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].is_view()) accesses[i] = access_of(graph, node, i);
    const auto outputs = std::span(accesses).subspan(node.input_count);
    const auto seen = [&](const Access& a) { return live[a.buffer].intersects(a.begin, a.end); };
    node.dead = !node.may_fault && !outputs.empty() && std::ranges::none_of(outputs, seen);
    if (node.dead) continue;
    for (const Access& a : outputs)
      if (a.dense) live[a.buffer].remove(a.begin, a.end);
    for (std::size_t i = 0; i < node.input_count; ++i)
      if (operands[i].is_view()) live[accesses[i].buffer].add(accesses[i].begin, accesses[i].end);
  }
  return graph;
}

}  // namespace spyre::lazy
