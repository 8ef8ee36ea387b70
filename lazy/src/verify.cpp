// spyre/lazy/verify.cpp — see verify.h.
#include "spyre/lazy/verify.h"

#include <algorithm>
#include <bit>

#include "dependences.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/kernels/op.h"

namespace spyre::lazy {
namespace {

/// Checks one node. Confined to one call of verify().
class NodeVerifier {
 public:
  NodeVerifier(const Graph& graph, std::uint32_t number)
      : graph_(graph), node_(graph.nodes[number]), number_(number) {}

  void verify() const {
    const auto operands = graph_.all_operands(node_);
    for (std::size_t i = 0; i < operands.size(); ++i) verify_operand(operands[i], i);
    if (node_.kind == Node::Kind::Library) return;
    for (const std::int64_t extent : node_.sizes) require(extent >= 1, "has no points");
    require(node_.output_count == 1, "has other than one output");
    require(graph_.output(node_).is_view(), "writes to a scalar");
    if (node_.kind == Node::Kind::Pointwise) return verify_pointwise();
    verify_reduction();
  }

 private:
  void require(bool holds, std::string_view what) const {
    if (!holds) throw InternalError(str("graph: node %", number_, ' ', what));
  }

  void verify_operand(const Operand& o, std::size_t position) const {
    if (o.kind != Operand::Kind::View) {
      require(o.index < graph_.params, "names a parameter slot that does not exist");
      require(o.kind == Operand::Kind::Scalar || o.strides.size() == node_.sizes.size(),
              "has an iota of another rank");
      return;
    }
    require(o.index < graph_.buffers.size(), "names a buffer that does not exist");
    const bool library = node_.kind == Node::Kind::Library;
    require(!library || node_.first_operand + position < graph_.library_sizes.size(),
            "has an operand without sizes");
    const Dims& sizes =
        library ? graph_.library_sizes[node_.first_operand + position] : node_.sizes;
    require(o.strides.size() == sizes.size(),
            "has an operand whose strides do not match the sizes");
    const Access access = access_of(graph_, node_, position);
    const BufferFacts& facts = graph_.buffers[o.index];
    require(facts.lowest() <= access.begin && access.end <= facts.highest(),
            "reaches outside its buffer");
  }

  void verify_pointwise() const {
    require(node_.op.value < kernels::op_table().size(), "applies an unknown op");
    require(node_.input_count == kernels::op(node_.op).info.arity,
            "has the wrong number of inputs");
    verify_written_once(0);
  }

  void verify_reduction() const {
    require(node_.reduced != 0 && node_.reduced >> node_.sizes.size() == 0,
            "reduces dimensions that do not exist");
    const unsigned run = node_.reduced >> std::countr_zero(node_.reduced);
    require((run & (run + 1)) == 0, "reduces dimensions that are not one run");
    const bool trailing =
        static_cast<std::size_t>(std::bit_width(node_.reduced)) == node_.sizes.size();
    require(node_.kind != Node::Kind::Row || trailing,
            "is a row reduction over dimensions that are not the last");
    verify_written_once(node_.reduced);
  }

  void verify_written_once(std::uint32_t reduced) const {
    const Dims& strides = graph_.output(node_).strides;
    for (std::size_t d = 0; d < node_.sizes.size(); ++d)
      if (((reduced >> d) & 1U) == 0)
        require(node_.sizes[d] == 1 || strides[d] != 0, "writes an element more than once");
  }

  const Graph& graph_;
  const Node& node_;
  std::uint32_t number_;
};

void require_group(bool holds, std::size_t group, std::string_view what) {
  if (!holds) throw InternalError(str("plan: group ", group, ' ', what));
}

void verify_kernel(const Group& group, std::size_t g) {
  group.spec.verify();
  require_group(group.extents.size() == group.spec.rank, g,
                "has extents of another rank than its spec");
  require_group(group.bindings.size() == group.spec.arguments.size(), g, "has unbound arguments");
  require_group(group.strides.size() == group.bindings.size() * group.spec.rank, g,
                "has arguments without strides");
  require_group(group.params.size() == group.spec.params, g, "has unbound parameters");
  for (const std::int64_t extent : group.extents)
    require_group(extent >= 1, g, "has an empty loop");
}

void verify_chain(const Graph& graph, const Chain& chain, std::size_t g) {
  require_group(!chain.rows.empty() && chain.panel_rows > 0, g, "is a chain without rows");
  for (const Stage& stage : chain.stages) {
    if (stage.group.library) {
      const std::int64_t rows = graph.nodes[stage.group.nodes.front()].rows.rows;
      require_group(rows != 0 && rows % chain.rows.back() == 0, g, "has panels of two matrices");
      continue;
    }
    verify_kernel(stage.group, g);
    require_group(stage.row_strides.size() == stage.group.bindings.size(), g,
                  "has a stage without row strides");
  }
}

}  // namespace

void verify(const Graph& graph) {
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    if (!graph.nodes[n].dead) NodeVerifier(graph, n).verify();
}

void verify(const Plan& plan) {
  std::vector<std::size_t> group_of(plan.graph.nodes.size(), plan.groups.size());
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    for (const std::uint32_t n : plan.groups[g].nodes) {
      require_group(group_of[n] == plan.groups.size(), g, str("runs %", n, " again"));
      require_group(!plan.graph.nodes[n].may_fault || plan.groups[g].nodes.size() == 1, g,
                    str("shares a kernel with %", n, ", which may fault"));
      group_of[n] = g;
    }
    if (const auto& chain = plan.groups[g].chain) verify_chain(plan.graph, *chain, g);
    else if (!plan.groups[g].library) verify_kernel(plan.groups[g], g);
  }
  const Dependences dependences(plan.graph);
  for (std::uint32_t n = 0; n < plan.graph.nodes.size(); ++n) {
    if (plan.graph.nodes[n].dead) continue;
    if (group_of[n] == plan.groups.size())
      throw InternalError(str("plan: live node %", n, " is in no group"));
    for (const Dependence& d : dependences.into(n)) {
      if (d.kind == Dependence::Kind::Share) continue;
      const std::string between = str("breaks the order of %", d.from, " and %", n);
      require_group(group_of[d.from] <= group_of[n], group_of[n], between);
      const bool apart =
          d.relation == Relation::Conflict && plan.groups[group_of[n]].chain == nullptr;
      require_group(group_of[d.from] < group_of[n] || !apart, group_of[n], between);
    }
  }
}

}  // namespace spyre::lazy
