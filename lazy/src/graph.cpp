// spyre/lazy/graph.cpp — see graph.h.
#include "spyre/lazy/graph.h"

#include "spyre/base/error.h"

namespace spyre::lazy {
namespace {

Operand library_operand(const Graph::LibraryWindow& w) {
  return {Operand::Kind::View, DType::U8, w.element_size, w.buffer, w.offset, w.strides};
}

}  // namespace

std::uint32_t Graph::add_buffer(const BufferFacts& facts) {
  buffers.push_back(facts);
  return static_cast<std::uint32_t>(buffers.size() - 1);
}

std::uint32_t Graph::append(Node node, std::span<const Operand> node_inputs,
                            std::span<const Operand> node_outputs) {
  ensure(node_inputs.size() <= 0xffff && node_outputs.size() <= 0xffff,
         "operand counts fit a node");
  node.first_operand = static_cast<std::uint32_t>(operands.size());
  node.input_count = static_cast<std::uint16_t>(node_inputs.size());
  node.output_count = static_cast<std::uint16_t>(node_outputs.size());
  operands.insert(operands.end(), node_inputs.begin(), node_inputs.end());
  operands.insert(operands.end(), node_outputs.begin(), node_outputs.end());
  nodes.push_back(node);
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

std::uint32_t Graph::add_pointwise(OpId op, DType compute, DType result, const Dims& sizes,
                                   std::span<const Operand> node_inputs, const Operand& output,
                                   std::uint32_t source) {
  return append({.kind = Node::Kind::Pointwise,
                 .compute = compute,
                 .result = result,
                 .op = op,
                 .source = source,
                 .sizes = sizes},
                node_inputs, {&output, 1});
}

std::uint32_t Graph::add_reduction(Node::Kind kind, kernels::Reduction reduction, DType compute,
                                   DType result, const Dims& sizes, std::uint32_t reduced,
                                   const Operand& input, const Operand& output,
                                   std::uint32_t source) {
  return append({.kind = kind,
                 .compute = compute,
                 .result = result,
                 .reduction = reduction,
                 .reduced = reduced,
                 .source = source,
                 .sizes = sizes},
                {&input, 1}, {&output, 1});
}

std::uint32_t Graph::add_library(std::span<const LibraryWindow> windows_in,
                                 std::span<const LibraryWindow> windows_out, std::uint32_t source) {
  std::vector<Operand> in, out;
  library_sizes.resize(operands.size());
  for (const LibraryWindow& w : windows_in)
    in.push_back(library_operand(w)), library_sizes.push_back(w.sizes);
  for (const LibraryWindow& w : windows_out)
    out.push_back(library_operand(w)), library_sizes.push_back(w.sizes);
  return append({.kind = Node::Kind::Library, .source = source}, in, out);
}

}  // namespace spyre::lazy
