// spyre/lazy/plan_compiler.cpp — every group becomes one step; its argument record is written once
// and patched later.
#include "plan_compiler.h"

#include "access.h"
#include "card_traffic.h"
#include "panel_program.h"
#include "programs.h"
#include "spyre/base/error.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/work_division.h"
#include "spyre/lazy/graph_builder.h"
#include "spyre/lazy/graph_printer.h"

namespace spyre::lazy {
namespace {

constexpr std::size_t kNamedOps = 6;
constexpr std::uint32_t kNoBuffer = 0xffffffff;

std::string_view op_name(const Node& node) {
  return node.is_reduction() ? name_of(node.reduction) : kernels::op(node.op).info.name;
}

/// "add_mul_relu", cut after some ops: "add_mul_sub_exp_neg_tanh+12".
std::string kernel_name(const Graph& graph, const Group& group) {
  std::string name;
  for (std::size_t i = 0; i < std::min(group.nodes.size(), kNamedOps); ++i) {
    if (i != 0) name += '_';
    name += op_name(graph.nodes[group.nodes[i]]);
  }
  if (group.nodes.size() > kNamedOps) name += str('+', group.nodes.size() - kNamedOps);
  return name;
}

/// The shape of a matrix product: m and n are the result's last sizes, k is what is left.
device_sim::ProductShape product_shape(const Dims& sizes, std::uint64_t macs) {
  device_sim::ProductShape shape{.m = static_cast<std::uint64_t>(sizes[sizes.size() - 2]),
                                 .n = static_cast<std::uint64_t>(sizes[sizes.size() - 1])};
  for (std::size_t d = 0; d + 2 < sizes.size(); ++d)
    shape.batch *= static_cast<std::uint64_t>(sizes[d]);
  shape.k = macs / (shape.batch * shape.m * shape.n);
  return shape;
}

device_sim::Work library_work(const Graph& graph, const Node& node,
                              const kernels::LibraryCost& cost, int cores) {
  device_sim::Work work;
  if (!cost.on_card) return work;
  work.macs = cost.macs;
  work.lane_ops = cost.lane_ops;
  const std::size_t count = graph.all_operands(node).size();
  for (std::size_t i = 0; i < count; ++i)
    (i < node.input_count ? work.bytes_read : work.bytes_written) +=
        static_cast<std::uint64_t>(access_of(graph, node, i).distinct_bytes());
  if (cost.macs != 0) work.pattern = device_sim::Work::Pattern::Product;
  if (node.output_count != 0) {
    const Dims& sizes = graph.library_sizes[node.first_operand + node.input_count];
    if (sizes.size() >= 2) work.rows = static_cast<std::uint64_t>(sizes[sizes.size() - 2]);
    if (cost.product && cost.macs != 0) work.product = product_shape(sizes, cost.macs);
  }
  return device_sim::divided(work, cores);
}

/// A chain moves what crosses the scratchpad's border.
device_sim::Work work_outside(std::span<const Touch> touches) {
  device_sim::Work work{.pattern = device_sim::Work::Pattern::Product};
  for (const Touch& t : touches)
    (t.write ? work.bytes_written : work.bytes_read) += static_cast<std::uint64_t>(t.end - t.begin);
  return work;
}

class LaunchPlanBuilder {
 public:
  LaunchPlanBuilder(const Trace& trace, const Plan& plan, kernels::KernelCache& kernels,
                    const CompileOptions& options)
      : trace_(trace), plan_(plan), kernels_(kernels), options_(options) {}

  LaunchPlan build() {
    std::vector<StepTouches> touches = touches_of(plan_);
    MemoryPlan memory = plan_memory(plan_.graph.buffers, touches);
    auto fill = memory.fills.begin();
    for (std::uint32_t g = 0; g < plan_.groups.size(); ++g) {
      for (; fill != memory.fills.end() && fill->before_step == g; ++fill) add_fill(fill->buffer);
      if (plan_.groups[g].chain) add_chain(plan_.groups[g], std::move(touches[g].touches));
      else if (plan_.groups[g].library) add_library(plan_.groups[g], std::move(touches[g].touches));
      else add_kernel(plan_.groups[g], std::move(touches[g].touches));
    }
    for (std::uint32_t b = 0; b < memory.placements.size(); ++b)
      if (memory.placements[b].kind != Placement::Kind::None) out_.placed.push_back(b);
    out_.placements = std::move(memory.placements);
    out_.arena = memory.arena;
    out_.dead_ops = plan_.dead_ops;
    out_.duplicate_ops = plan_.duplicate_ops;
    return std::move(out_);
  }

 private:
  std::uint32_t next_step() const { return static_cast<std::uint32_t>(out_.steps.size()); }

  /// Appends a step and zeroed words for its arguments; returns the first word.
  std::uint32_t append(std::shared_ptr<const device_sim::Program> program, std::size_t words,
                       std::string name) {
    const auto first = static_cast<std::uint32_t>(out_.image.size());
    out_.image.resize(first + words);
    out_.headers.push_back(first);
    LaunchStep& step = out_.steps.emplace_back();
    step.program = std::move(program);
    step.first_word = first;
    step.words = static_cast<std::uint32_t>(words);
    step.name = std::move(name);
    return first;
  }

  void add_kernel(const Group& group, std::vector<Touch> touches) {
    auto kernel = kernels_.find_or_compile(group.spec, options_.execution, options_.isa);
    if (options_.dump)
      listings_ += str(kernel_name(plan_.graph, group), ":\n", kernel->listing(), '\n');
    auto program = std::make_shared<const KernelProgram>(std::move(kernel), next_step());
    const KernelProgram& p = *program;
    const std::uint32_t first =
        append(std::move(program), p.words(), kernel_name(plan_.graph, group));
    for (std::size_t a = 0; a < group.bindings.size(); ++a) {
      const Binding& binding = group.bindings[a];
      const auto at = static_cast<std::uint32_t>(first + p.base_word(a));
      if (binding.kind == Binding::Kind::Iota) out_.params.push_back({at, binding.index});
      else
        out_.addresses.push_back({at, binding.index, static_cast<std::uint64_t>(binding.offset)});
    }
    for (std::size_t i = 0; i < group.params.size(); ++i)
      out_.params.push_back({static_cast<std::uint32_t>(first + p.param_word(i)), group.params[i]});
    for (std::size_t d = 0; d < group.extents.size(); ++d)
      out_.image[first + p.extent_word(d)] = static_cast<std::uint64_t>(group.extents[d]);
    for (std::size_t i = 0; i < group.strides.size(); ++i)
      out_.image[first + p.stride_word(i)] = static_cast<std::uint64_t>(group.strides[i]);
    finish_step(group, group.work, std::move(touches));
    ++out_.kernel_launches;
    out_.ops_planned += static_cast<std::uint32_t>(group.nodes.size());
    if (group.nodes.size() > 1) out_.ops_fused += static_cast<std::uint32_t>(group.nodes.size());
  }

  void add_library(const Group& group, std::vector<Touch> touches) {
    const std::uint32_t number = group.nodes.front();
    const TraceNode& recorded = trace_.nodes()[number];
    const auto& call = trace_.call(recorded);
    auto program = std::make_shared<const LibraryProgram>(call, views_of(recorded), next_step());
    const LibraryProgram& p = *program;
    const std::uint32_t first = append(std::move(program), p.words(), std::string(call->name()));
    const std::span<const TraceOperand> operands = trace_.operands(recorded);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Geometry g = trace_.geometries()[operands[i].geometry];
      // The graph's buffer: a pass may have put an equal one in its place.
      const std::uint32_t buffer = plan_.graph.all_operands(plan_.graph.nodes[number])[i].index;
      out_.addresses.push_back({static_cast<std::uint32_t>(first + p.base_word(i)), buffer,
                                static_cast<std::uint64_t>(g.offset()) * g.type().size});
    }
    finish_step(group,
                library_work(plan_.graph, plan_.graph.nodes[number], call->cost(), options_.cores),
                std::move(touches));
    ++out_.library_launches;
  }

  std::vector<kernels::DeviceView> views_of(const TraceNode& recorded) const {
    std::vector<kernels::DeviceView> views;
    for (const TraceOperand& operand : trace_.operands(recorded)) {
      const Geometry g = trace_.geometries()[operand.geometry];
      views.push_back({nullptr, g.type().size, g.type().code, Dims(g.sizes()), Dims(g.strides())});
    }
    return views;
  }

  void add_chain(const Group& group, std::vector<Touch> touches) {
    const Chain& chain = *group.chain;
    std::vector<StageCode> stages;
    std::string name;
    for (const Stage& stage : chain.stages) {
      stages.push_back(code_of(stage.group));
      if (!name.empty()) name += '>';
      name += stage.group.library ? std::string(stages.back().call->name())
                                  : kernel_name(plan_.graph, stage.group);
    }
    auto program =
        std::make_shared<const PanelProgram>(group.chain, std::move(stages), next_step());
    const PanelProgram& p = *program;
    const std::uint32_t first = append(std::move(program), p.words(), std::move(name));
    for (std::size_t s = 0; s < chain.stages.size(); ++s) bind_stage(chain, s, p, first);
    device_sim::Work work = work_outside(touches);
    work.lane_ops = group.work.lane_ops;
    for (const Stage& stage : chain.stages)
      if (stage.group.library)
        work.macs += trace_.call(trace_.nodes()[stage.group.nodes.front()])->cost().macs;
    work.rows = static_cast<std::uint64_t>(chain.rows.back());
    work.scratchpad_peak = chain.resident_bytes.count;
    finish_step(group, work, std::move(touches));
    ++out_.kernel_launches;
    out_.ops_planned += static_cast<std::uint32_t>(group.nodes.size());
    out_.ops_fused += static_cast<std::uint32_t>(group.nodes.size());
  }

  StageCode code_of(const Group& group) {
    StageCode code;
    if (!group.library) {
      code.kernel = kernels_.find_or_compile(group.spec, options_.execution, options_.isa);
      if (options_.dump)
        listings_ += str(kernel_name(plan_.graph, group), ":\n", code.kernel->listing(), '\n');
      for (const Binding& b : group.bindings)
        code.buffers.push_back(b.kind == Binding::Kind::Iota ? kNoBuffer : b.index);
      return code;
    }
    const std::uint32_t number = group.nodes.front();
    code.call = trace_.call(trace_.nodes()[number]);
    code.views = views_of(trace_.nodes()[number]);
    for (const Operand& o : plan_.graph.all_operands(plan_.graph.nodes[number]))
      code.buffers.push_back(o.index);
    return code;
  }

  /// Residents get their offset within a row, everything else its address or value.
  void bind_stage(const Chain& chain, std::size_t s, const PanelProgram& p, std::uint32_t first) {
    const Group& group = chain.stages[s].group;
    const auto bind = [&](std::size_t argument, std::uint32_t buffer, std::int64_t offset) {
      const auto at = static_cast<std::uint32_t>(first + p.base_word(s, argument));
      if (chain.resident(buffer) != Chain::kNone)
        out_.image[at] = static_cast<std::uint64_t>(offset);
      else out_.addresses.push_back({at, buffer, static_cast<std::uint64_t>(offset)});
    };
    if (group.library) {
      const auto operands = plan_.graph.all_operands(plan_.graph.nodes[group.nodes.front()]);
      for (std::size_t i = 0; i < operands.size(); ++i)
        bind(i, operands[i].index, operands[i].offset * operands[i].element_size);
      return;
    }
    for (std::size_t a = 0; a < group.bindings.size(); ++a) {
      const Binding& b = group.bindings[a];
      if (b.kind != Binding::Kind::Iota) bind(a, b.index, b.offset);
      else out_.params.push_back({static_cast<std::uint32_t>(first + p.base_word(s, a)), b.index});
    }
    for (std::size_t i = 0; i < group.params.size(); ++i)
      out_.params.push_back(
          {static_cast<std::uint32_t>(first + p.param_word(s, i)), group.params[i]});
  }

  void add_fill(std::uint32_t buffer) {
    const std::uint64_t bytes = plan_.graph.buffers[buffer].bytes;
    const std::uint32_t first =
        append(std::make_shared<const ZeroFillProgram>(), ZeroFillProgram::kWords, "zero_fill");
    out_.addresses.push_back(
        {static_cast<std::uint32_t>(first + ZeroFillProgram::kBaseWord), buffer, 0});
    out_.image[first + ZeroFillProgram::kBytesWord] = bytes;
    out_.steps.back().work.bytes_written = bytes;
    const std::int64_t end = plan_.graph.buffers[buffer].highest();
    out_.steps.back().touches = {{buffer, true, 0, end, end}};
  }

  void finish_step(const Group& group, const device_sim::Work& work, std::vector<Touch> touches) {
    LaunchStep& step = out_.steps.back();
    step.work = work;
    if (work.bytes_read + work.bytes_written != 0)  // else the card is not asked for it
      add_card_traffic(plan_.graph, group, step.work);
    step.touches = std::move(touches);
    step.nodes = group.nodes;
  }

 public:
  const std::string& listings() const { return listings_; }

 private:
  const Trace& trace_;
  const Plan& plan_;
  kernels::KernelCache& kernels_;
  const CompileOptions& options_;
  LaunchPlan out_;
  std::string listings_;
};

}  // namespace

std::shared_ptr<const LaunchPlan> compile_plan(const Trace& trace,
                                               std::span<const BufferFacts> facts,
                                               kernels::KernelCache& kernels,
                                               const CompileOptions& options) {
  Graph graph = build_graph(trace, facts);
  graph.numerics = options.numerics;
  if (options.dump) options.dump("trace", print(graph));
  const Plan plan = run_pipeline(std::move(graph), options.pipeline);
  log(LogChannel::Schedule, [&] { return str(plan.groups.size(), " groups:\n", print(plan)); });
  LaunchPlanBuilder builder(trace, plan, kernels, options);
  auto launch = std::make_shared<LaunchPlan>(builder.build());
  if (options.dump) {
    options.dump("fused", print(plan));
    options.dump("dot", print_dot(plan));
    options.dump("plan", print(*launch));
    options.dump("asm", builder.listings());
  }
  return launch;
}

}  // namespace spyre::lazy
