// spyre/lazy/graph_builder.cpp — indices become values: the graph has its own shapes, so that
// passes may change them.
#include "spyre/lazy/graph_builder.h"

#include "spyre/base/error.h"

namespace spyre::lazy {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const Trace& trace, std::span<const BufferFacts> facts) : trace_(trace) {
    std::size_t operands = 0;
    for (const TraceNode& node : trace.nodes()) operands += trace.operands(node).size();
    graph_.buffers.reserve(facts.size());
    graph_.nodes.reserve(trace.nodes().size());
    graph_.operands.reserve(operands);
    for (const BufferFacts& f : facts) graph_.add_buffer(f);
    graph_.params = static_cast<std::uint32_t>(trace.params().size());
  }

  Graph build() {
    for (std::size_t i = 0; i < trace_.nodes().size(); ++i) {
      const std::uint32_t number = add(trace_.nodes()[i], trace_.source(i));
      ensure(number == i, "the graph numbers its nodes as the trace does");
      graph_.nodes[number].may_fault = trace_.nodes()[i].may_fault;
    }
    return std::move(graph_);
  }

 private:
  std::uint32_t add(const TraceNode& node, std::uint32_t source) {
    switch (node.kind) {
      case TraceNode::Kind::Pointwise: return add_pointwise(node, source);
      case TraceNode::Kind::Row: return add_reduction(node, Node::Kind::Row, source);
      case TraceNode::Kind::Column: return add_reduction(node, Node::Kind::Column, source);
      case TraceNode::Kind::Library: return add_library(node, source);
    }
    return 0;
  }

  std::uint32_t add_pointwise(const TraceNode& node, std::uint32_t source) {
    std::uint32_t param = node.first_param;
    operands_.clear();
    for (const TraceOperand& operand : trace_.inputs(node))
      operands_.push_back(convert(operand, param));
    const TraceOperand& output = trace_.outputs(node).front();
    return graph_.add_pointwise(OpId{node.code}, node.compute, node.result, sizes_of(output),
                                operands_, convert(output, param), source);
  }

  std::uint32_t add_reduction(const TraceNode& node, Node::Kind kind, std::uint32_t source) {
    std::uint32_t param = node.first_param;
    const TraceOperand& input = trace_.inputs(node).front();
    return graph_.add_reduction(kind, static_cast<kernels::Reduction>(node.code), node.compute,
                                node.result, sizes_of(input), node.reduced, convert(input, param),
                                convert(trace_.outputs(node).front(), param), source);
  }

  std::uint32_t add_library(const TraceNode& node, std::uint32_t source) {
    const auto windows = [&](std::span<const TraceOperand> operands) {
      std::vector<Graph::LibraryWindow> result;
      for (const TraceOperand& operand : operands) {
        const Geometry g = trace_.geometries()[operand.geometry];
        result.push_back(
            {operand.buffer, g.type().size, g.offset(), Dims(g.sizes()), Dims(g.strides())});
      }
      return result;
    };
    const std::uint32_t number =
        graph_.add_library(windows(trace_.inputs(node)), windows(trace_.outputs(node)), source);
    const kernels::LibraryCall& call = *trace_.call(node);
    if (const auto rows = call.row_space()) {
      graph_.nodes[number].rows = *rows;
      graph_.nodes[number].row_scratch = call.row_scratch();
      graph_.nodes[number].batch_bytes = call.batch_bytes();
    }
    return number;
  }

  /// `param`: the next parameter of the node.
  Operand convert(const TraceOperand& operand, std::uint32_t& param) const {
    if (operand.is_scalar()) return Operand::scalar(param++, static_cast<DType>(operand.geometry));
    const Geometry g = trace_.geometries()[operand.geometry];
    if (operand.is_iota()) return Operand::iota(param++, Dims(g.strides()));
    return Operand::view(operand.buffer, g.dtype(), g.offset(), Dims(g.strides()));
  }

  Dims sizes_of(const TraceOperand& operand) const {
    return Dims(trace_.geometries()[operand.geometry].sizes());
  }

  const Trace& trace_;
  Graph graph_;
  std::vector<Operand> operands_;
};

}  // namespace

Graph build_graph(const Trace& trace, std::span<const BufferFacts> facts) {
  return GraphBuilder(trace, facts).build();
}

}  // namespace spyre::lazy
