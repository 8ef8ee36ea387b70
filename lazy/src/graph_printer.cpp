// spyre/lazy/graph_printer.cpp — see graph_printer.h.
#include "spyre/lazy/graph_printer.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace spyre::lazy {
namespace {

void print_operand(std::ostream& out, const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::View: out << 'b' << o.index << o.strides; break;
    case Operand::Kind::Scalar: out << 'p' << o.index; return;
    case Operand::Kind::Iota: out << "iota p" << o.index << o.strides; return;
  }
  if (o.offset != 0) out << '+' << o.offset;
}

std::string name_of_node(const Node& node) {
  switch (node.kind) {
    case Node::Kind::Pointwise: return std::string(kernels::op(node.op).info.name);
    case Node::Kind::Row: return str("row_", name_of(node.reduction));
    case Node::Kind::Column: return str("column_", name_of(node.reduction));
    case Node::Kind::Library: return "library";
  }
  return {};
}

void print_node(std::ostream& out, const Graph& graph, std::uint32_t n) {
  const Node& node = graph.nodes[n];
  out << '%' << n << " = " << name_of_node(node);
  if (node.kind != Node::Kind::Library) {
    out << ' ' << node.result;
    if (node.compute != node.result) out << " in " << node.compute;
    out << ' ' << node.sizes;
  }
  if (node.is_reduction()) {
    out << " over";
    for (std::size_t d = 0; d < node.sizes.size(); ++d)
      if ((node.reduced >> d) & 1U) out << ' ' << d;
  }
  out << " (";
  const char* separator = "";
  for (const Operand& o : graph.inputs(node))
    out << std::exchange(separator, ", "), print_operand(out, o);
  out << ") -> ";
  separator = "";
  for (const Operand& o : graph.outputs(node))
    out << std::exchange(separator, ", "), print_operand(out, o);
}

void print_bindings(std::ostream& out, const Group& group) {
  const std::size_t rank = group.extents.size();
  out << "  extents " << group.extents << '\n';
  for (std::size_t a = 0; a < group.bindings.size(); ++a) {
    const Binding& b = group.bindings[a];
    out << "  a" << a << " = ";
    if (b.kind == Binding::Kind::Iota) out << "iota p" << b.index;
    else out << (b.kind == Binding::Kind::Read ? "read b" : "write b") << b.index;
    if (b.offset != 0) out << '+' << b.offset;
    out << ' ' << Dims({group.strides.data() + a * rank, rank}) << '\n';
  }
  for (std::size_t p = 0; p < group.params.size(); ++p)
    out << "  launch p" << p << " = trace p" << group.params[p] << '\n';
}

void print_kernel(std::ostream& out, const Group& group) {
  out << "  " << group.spec.print();
  print_bindings(out, group);
}

void print_chain(std::ostream& out, const Chain& chain) {
  out << "  chain over rows " << chain.rows << ", " << chain.panel_rows << " at a time\n";
  for (const Chain::Resident& r : chain.residents)
    out << "  scratchpad +" << r.offset << ": b" << r.buffer << ", " << r.row_bytes << " B a row\n";
  for (const Stage& stage : chain.stages) {
    if (!stage.group.library) print_kernel(out, stage.group);
    else out << "  library %" << stage.group.nodes.front() << '\n';
  }
}

std::string dot_label(const Graph& graph, const Group& group) {
  std::string label;
  for (const std::uint32_t n : group.nodes)
    label += str('%', n, ' ', name_of_node(graph.nodes[n]), "\\l");
  return label;
}

}  // namespace

std::string print(const Graph& graph) {
  std::ostringstream out;
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b) {
    const BufferFacts& facts = graph.buffers[b];
    out << 'b' << b << ": " << facts.bytes << " B" << (facts.written_before ? ", input" : "")
        << (facts.observable ? ", observable" : "");
    if (facts.directive != 0) out << ", directive " << facts.directive;
    out << '\n';
  }
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].dead) continue;
    print_node(out, graph, n);
    out << '\n';
  }
  return std::move(out).str();
}

std::string print(const Plan& plan) {
  std::ostringstream out;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    out << "group " << g << ":\n";
    for (const std::uint32_t n : group.nodes) print_node(out << "  ", plan.graph, n), out << '\n';
    if (group.refusal != Refusal::None)
      out << "  without %" << group.refused << " (" << name_of_node(plan.graph.nodes[group.refused])
          << "): " << reason_of(group.refusal) << '\n';
    if (group.chain) print_chain(out, *group.chain);
    else if (!group.library) print_kernel(out, group);
  }
  return std::move(out).str();
}

std::string print_dot(const Plan& plan) {
  std::ostringstream out;
  out << "digraph plan {\n  node [shape=box, fontname=monospace];\n";
  std::vector<std::size_t> writer(plan.graph.buffers.size(), plan.groups.size());
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    out << "  g" << g << " [label=\"" << dot_label(plan.graph, plan.groups[g]) << "\"];\n";
    std::vector<std::uint32_t> reads, writes;
    for (const std::uint32_t n : plan.groups[g].nodes) {
      for (const Operand& o : plan.graph.inputs(plan.graph.nodes[n]))
        if (o.is_view()) reads.push_back(o.index);
      for (const Operand& o : plan.graph.outputs(plan.graph.nodes[n])) writes.push_back(o.index);
    }
    std::ranges::sort(reads);
    const auto repeats = std::ranges::unique(reads);
    reads.erase(repeats.begin(), repeats.end());
    for (const std::uint32_t b : reads)
      if (writer[b] != plan.groups.size())
        out << "  g" << writer[b] << " -> g" << g << " [label=\"b" << b << "\"];\n";
    for (const std::uint32_t b : writes) writer[b] = g;
  }
  out << "}\n";
  return std::move(out).str();
}

}  // namespace spyre::lazy
