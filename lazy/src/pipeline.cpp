// spyre/lazy/pipeline.cpp — the compiler, pass by pass.
#include "spyre/lazy/pipeline.h"

#include <algorithm>
#include <array>

#include "partition.h"
#include "passes/constants.h"
#include "passes/dead_code.h"
#include "passes/duplicates.h"
#include "passes/fuse_columns.h"
#include "passes/fuse_panels.h"
#include "passes/fuse_pointwise.h"
#include "passes/fuse_rows.h"
#include "spec_builder.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/lazy/graph_printer.h"
#include "spyre/lazy/verify.h"

namespace spyre::lazy {
namespace {

struct GraphPass {
  std::string_view name;
  Graph (*run)(Graph);
};
struct FusionPass {
  std::string_view name;
  void (*run)(Partition&);
};
struct PlanPass {
  std::string_view name;
  void (*run)(Plan&, Bytes scratchpad);
};

constexpr std::array kGraphPasses{
    // Pointwise operations take the scalar itself instead of memory that was filled with it.
    GraphPass{"constants", constants},
    // Equal operations on equal data are done once; the second one's readers read the first one's
    // result.
    GraphPass{"duplicates", duplicates},
    // What writes only bytes that nobody can see goes, and then what only that needed.
    GraphPass{"dead_code", dead_code},
};

// From here on the graph stands still and its nodes are gathered into groups. Reductions choose
// first, because their loop nests are the least flexible.
constexpr std::array kFusionPasses{
    // Reductions along rows, with everything that lives on the same rows, become one kernel over
    // resident rows.
    FusionPass{"fuse_rows", fuse_rows},
    // Reductions down columns take in what makes their elements and what finishes their results.
    FusionPass{"fuse_columns", fuse_columns},
    // The remaining pointwise operations that share an iteration space become one loop.
    FusionPass{"fuse_pointwise", fuse_pointwise},
};

// What runs is settled; now how.
constexpr std::array kPlanPasses{
    // A product and the kernels and products around it run panel by panel of rows, and what only
    // they need stays in the scratchpad: attention never has its scores as a whole.
    PlanPass{"fuse_panels", fuse_panels},
};

template <class Use> void for_each_pass_name(Use use) {
  for (const GraphPass& pass : kGraphPasses) use(pass.name);
  for (const FusionPass& pass : kFusionPasses) use(pass.name);
  for (const PlanPass& pass : kPlanPasses) use(pass.name);
}

bool is_pass(std::string_view name) {
  bool found = false;
  for_each_pass_name([&](std::string_view known) { found = found || known == name; });
  return found;
}

/// Calls `use` with each comma-separated item.
template <class Use> void for_each_item(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    use(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

bool disabled(std::string_view passes, std::string_view name) {
  bool found = false;
  for_each_item(passes, [&](std::string_view item) {
    found = found || (item.starts_with('-') && item.substr(1) == name);
  });
  return found;
}

std::uint32_t dead_nodes(const Graph& graph) {
  return static_cast<std::uint32_t>(std::ranges::count_if(graph.nodes, &Node::dead));
}

/// Shrinks with every change that a graph pass makes.
std::size_t operands_in_memory(const Graph& graph) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes)
    if (!node.dead) count += 1 + std::ranges::count_if(graph.all_operands(node), &Operand::is_view);
  return count;
}

/// Verifies, and reports what changed. Confined to one call of run_pipeline().
class Runner {
 public:
  explicit Runner(const PipelineOptions& options) : options_(options) {}

  /// How many nodes died.
  std::uint32_t run(const GraphPass& pass, Graph& graph) const {
    if (disabled(options_.passes, pass.name)) return 0;
    const std::uint32_t dead_before = dead_nodes(graph);
    const std::size_t before = options_.on_change ? operands_in_memory(graph) : 0;
    graph = pass.run(std::move(graph));
    if (options_.verify) check(pass.name, [&] { verify(graph); });
    if (options_.on_change && operands_in_memory(graph) != before)
      options_.on_change(pass.name, print(graph));
    return dead_nodes(graph) - dead_before;
  }

  void run(const FusionPass& pass, Partition& partition) const {
    if (disabled(options_.passes, pass.name)) return;
    const std::size_t before = partition.group_count();
    pass.run(partition);
    if (options_.verify) check(pass.name, [&] { verify(plan_of(partition)); });
    if (partition.group_count() != before && options_.on_change)
      options_.on_change(pass.name, print(plan_of(partition)));
  }

  void run(const PlanPass& pass, Plan& plan) const {
    if (disabled(options_.passes, pass.name)) return;
    const std::size_t before = plan.groups.size();
    pass.run(plan, options_.scratchpad);
    if (options_.verify) check(pass.name, [&] { verify(plan); });
    if (plan.groups.size() != before && options_.on_change)
      options_.on_change(pass.name, print(plan));
  }

  static Plan plan_of(const Partition& partition) {
    Plan plan{.graph = partition.graph()};
    plan.groups = build_groups(partition, plan.graph);
    return plan;
  }

  /// Marks nodes that no kernel needs in the end.
  static std::vector<Group> build_groups(const Partition& partition, Graph& graph) {
    std::vector<Group> groups;
    groups.reserve(partition.group_count());
    for (const std::uint32_t name : partition.in_order()) {
      const GroupDraft& draft = partition.draft(name);
      Group group = draft.nest.library ? library_group(draft) : build_group(partition, draft);
      group.refusal = draft.refusal;
      group.refused = draft.refused;
      for (const std::uint32_t n : draft.nodes)
        graph.nodes[n].dead = !std::ranges::binary_search(group.nodes, n);
      if (!group.nodes.empty()) groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  static Group library_group(const GroupDraft& draft) {
    Group group;
    group.nodes = draft.nodes;
    group.library = true;
    return group;
  }

  template <class Check> static void check(std::string_view pass, Check verify_it) {
    try {
      verify_it();
    } catch (const InternalError& error) {
      throw InternalError(str("pass ", pass, ": ", error.what()));
    }
  }

  const PipelineOptions& options_;
};

}  // namespace

Plan run_pipeline(Graph graph, const PipelineOptions& options) {
  const Runner runner(options);
  if (options.verify) verify(graph);
  Plan plan;
  runner.run(kGraphPasses[0], graph);
  plan.duplicate_ops = runner.run(kGraphPasses[1], graph);
  plan.dead_ops = runner.run(kGraphPasses[2], graph);

  const std::uint32_t died = dead_nodes(graph);
  {
    Partition partition(graph, {.scratchpad = options.scratchpad});
    for (const FusionPass& pass : kFusionPasses) runner.run(pass, partition);
    plan.groups = Runner::build_groups(partition, graph);
  }
  plan.dead_ops += dead_nodes(graph) - died;
  plan.graph = std::move(graph);
  for (const PlanPass& pass : kPlanPasses) runner.run(pass, plan);
  if (options.verify) verify(plan);
  return plan;
}

void check_passes(std::string_view passes) {
  for_each_item(passes, [&](std::string_view item) {
    if (item.starts_with('-') && is_pass(item.substr(1))) return;
    std::string names;
    for_each_pass_name([&](std::string_view known) { names += str(" -", known); });
    throw InvalidArgument(str("SPYRE_PASSES: got '", item, "'; expected a comma-separated list of",
                              names, "; try SPYRE_PASSES=-fuse_rows,-duplicates"));
  });
}

}  // namespace spyre::lazy
