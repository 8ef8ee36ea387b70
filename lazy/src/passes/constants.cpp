// spyre/lazy/passes/constants.cpp — one scan in recorded order with the filled range of each
// buffer.
#include "constants.h"

#include "access.h"

namespace spyre::lazy {
namespace {

/// What a buffer's bytes [begin, end) hold; an empty range: nothing is known.
struct Fill {
  std::uint32_t slot = 0;
  DType dtype{};
  std::int64_t begin = 0, end = 0;

  bool touches(const Access& a) const { return begin < a.end && a.begin < end; }
  bool gives(const Access& a) const {
    const bool inside = begin <= a.begin && a.end <= end && begin < end;
    return inside && a.dtype == dtype && (a.begin - begin) % a.element_size == 0;
  }
};

/// A number that is stored may come back as another one.
bool is_rounded_again(const Graph& graph, DType dtype) {
  return kernels::is_card(graph.numerics) && (is_reduced_float(dtype) || dtype == DType::I64);
}

/// A scalar stored as it is: the parameter's bits are the element's bits.
bool is_fill(const Graph& graph, const Node& node, OpId cast) {
  if (node.kind != Node::Kind::Pointwise || node.op != cast) return false;
  const Operand& value = graph.inputs(node)[0];
  const DType dtype = graph.output(node).dtype;
  return value.kind == Operand::Kind::Scalar && value.dtype == dtype && node.compute == dtype &&
         node.result == dtype && !is_rounded_again(graph, dtype);
}

/// Parameters in float32 keep their precision inside a half-precision operation; tensors do not.
bool would_stay_wide(const Node& node, DType dtype) {
  return dtype == DType::F32 && is_reduced_float(node.compute);
}

}  // namespace

Graph constants(Graph graph) {
  const OpId cast = kernels::op_named("cast");
  std::vector<Fill> fills(graph.buffers.size());
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    for (std::size_t i = 0; i < node.input_count && node.kind == Node::Kind::Pointwise; ++i) {
      Operand& operand = graph.operands[node.first_operand + i];
      if (!operand.is_view() || would_stay_wide(node, operand.dtype)) continue;
      const Fill& fill = fills[operand.index];
      if (fill.begin < fill.end && fill.gives(access_of(graph, node, i)))
        operand = Operand::scalar(fill.slot, fill.dtype);
    }
    for (std::size_t i = node.input_count; i < graph.all_operands(node).size(); ++i) {
      const Access access = access_of(graph, node, i);
      Fill& fill = fills[access.buffer];
      if (fill.touches(access)) fill = {};
      if (access.dense && is_fill(graph, node, cast))
        fill = {graph.inputs(node)[0].index, access.dtype, access.begin, access.end};
    }
  }
  return graph;
}

}  // namespace spyre::lazy
