// spyre/lazy/spec_builder.cpp — members become steps; then loops are ordered.
//
// A member reads another one's value directly, rounded to the storage type as if it had gone
// through memory. A store stands right behind its value. Whoever reads the old contents of that
// memory was recorded before, so its steps come before as well: kernels may overwrite what they
// load.
#include "spec_builder.h"

#include <algorithm>

#include "loop_order.h"
#include "work_estimate.h"

namespace spyre::lazy {
namespace {

using kernels::ArgumentSpec;
using kernels::Level;
using kernels::Step;

constexpr std::uint16_t kNoStep = 0xffff;

/// Confined to one call of build_group().
class SpecBuilder {
 public:
  SpecBuilder(const Partition& partition, const GroupDraft& draft)
      : partition_(partition),
        graph_(partition.graph()),
        draft_(draft),
        values_(draft.nodes.size(), kNoStep) {
    spec().numerics = graph_.numerics;
    spec().steps.reserve(4 * draft.nodes.size());  // a computation, what it loads, at times a store
    arguments_.reserve(2 * draft.nodes.size());
    group_.nodes.reserve(draft.nodes.size());
  }

  Group build() {
    find_needed();
    for (std::size_t i = 0; i < draft_.nodes.size(); ++i)
      if (needed_[i]) add_member(i);
    spec().params = static_cast<std::uint16_t>(group_.params.size());
    order_loops(draft_.nest, arguments_, group_);
    group_.work = estimate_work(group_, draft_.nest);
    return std::move(group_);
  }

 private:
  kernels::KernelSpec& spec() { return group_.spec; }

  std::size_t slot_of(std::uint32_t node) const {
    const auto at = std::ranges::lower_bound(draft_.nodes, node);
    return at != draft_.nodes.end() && *at == node
               ? static_cast<std::size_t>(at - draft_.nodes.begin())
               : kNone;
  }

  /// The member whose value an input reads; kNone if it comes from memory.
  std::size_t producer(const Node& node, std::size_t input) const {
    const std::uint32_t from = partition_.dependences().definition(node.first_operand + input);
    return from == kNone ? kNone : slot_of(from);
  }

  /// Members that neither reach memory nor another member that does are left out.
  void find_needed() {
    needed_.assign(draft_.nodes.size(), false);
    stored_.assign(draft_.nodes.size(), false);
    for (std::size_t i = draft_.nodes.size(); i-- > 0;) {
      stored_[i] = partition_.must_store(draft_.nodes[i]);
      if (stored_[i]) needed_[i] = true;
      if (!needed_[i]) continue;
      const Node& node = graph_.nodes[draft_.nodes[i]];
      for (std::size_t k = 0; k < node.input_count; ++k)
        if (const std::size_t from = producer(node, k); from != kNone) needed_[from] = true;
    }
  }

  void add_member(std::size_t slot) {
    const std::uint32_t number = draft_.nodes[slot];
    const Node& node = graph_.nodes[number];
    const Nest& nest = partition_.nest(number).nest;
    const Level level = level_in(nest, draft_.nest);
    group_.nodes.push_back(number);
    Step step{.kind = node.is_reduction() ? Step::Kind::Reduce : Step::Kind::Apply,
              .compute = node.compute,
              .result = node.result,
              .inputs = {}};
    for (std::size_t k = 0; k < node.input_count; ++k)
      step.inputs.push_back(input(number, node, k, level));
    if (node.is_reduction()) {
      step.reduction = node.reduction;
      step.level = Level::Result;
    } else {
      step.op = node.op;
      for (const std::uint16_t i : step.inputs)
        step.level = std::max(step.level, spec().steps[i].level);
    }
    values_[slot] = add(std::move(step));
    if (stored_[slot]) store(slot, node.is_reduction() ? Level::Result : level);
  }

  std::uint16_t input(std::uint32_t number, const Node& node, std::size_t k, Level level) {
    const Operand& operand = graph_.inputs(node)[k];
    if (operand.kind == Operand::Kind::Scalar) return parameter(operand);
    if (const std::size_t from = producer(node, k); from != kNone)
      return forwarded(from, operand.dtype);
    const bool view = operand.is_view();
    const std::uint16_t a =
        argument(number, k, operand, view ? ArgumentSpec::Kind::Load : ArgumentSpec::Kind::Iota);
    return add({.kind = Step::Kind::Load,
                .result = operand.dtype,
                .level = level,
                .argument = a,
                .inputs = {}});
  }

  std::uint16_t parameter(const Operand& operand) {
    auto at = std::ranges::find(group_.params, operand.index);
    if (at == group_.params.end()) at = group_.params.insert(at, operand.index);
    const auto position = static_cast<std::uint16_t>(at - group_.params.begin());
    return add({.kind = Step::Kind::Param,
                .result = operand.dtype,
                .level = Level::Uniform,
                .argument = position,
                .inputs = {}});
  }

  /// A member's value as a reader of its output view would see it.
  std::uint16_t forwarded(std::size_t slot, DType view) {
    const std::uint16_t value = values_[slot];
    const DType result = spec().steps[value].result;
    if (result == view) return value;
    return add({.kind = Step::Kind::Apply,
                .op = kernels::op_named("cast"),
                .compute = view,
                .result = view,
                .level = spec().steps[value].level,
                .inputs = {value}});
  }

  void store(std::size_t slot, Level level) {
    const std::uint32_t number = draft_.nodes[slot];
    const Node& node = graph_.nodes[number];
    const Operand& output = graph_.output(node);
    const std::uint16_t a = argument(number, node.input_count, output, ArgumentSpec::Kind::Store);
    spec().steps.push_back({.kind = Step::Kind::Store,
                            .result = output.dtype,
                            .level = level,
                            .argument = a,
                            .inputs = {values_[slot]}});
  }

  std::uint16_t argument(std::uint32_t number, std::size_t position, const Operand& operand,
                         ArgumentSpec::Kind kind) {
    const NodeNest& member = partition_.nest(number);
    NestArgument a{.spec = {.kind = kind, .dtype = operand.dtype},
                   .strides = strides_in(member.nest, member.strides[position], draft_.nest)};
    if (kind == ArgumentSpec::Kind::Iota) {
      a.binding = {.kind = Binding::Kind::Iota, .index = operand.index};
    } else {
      const Access& access =
          partition_.dependences().access(graph_.nodes[number].first_operand + position);
      a.binding = {
          .kind = kind == ArgumentSpec::Kind::Load ? Binding::Kind::Read : Binding::Kind::Write,
          .index = operand.index,
          .offset = operand.offset * operand.element_size,
          .begin = access.begin,
          .end = access.end};
      for (std::int64_t& stride : a.strides) stride *= operand.element_size;
    }
    const auto at = std::ranges::find(arguments_, a);
    if (at != arguments_.end()) return static_cast<std::uint16_t>(at - arguments_.begin());
    arguments_.push_back(a);
    return static_cast<std::uint16_t>(arguments_.size() - 1);
  }

  /// Equal steps are one step.
  std::uint16_t add(Step step) {
    auto& steps = spec().steps;
    const auto at = std::ranges::find(steps, step);
    if (at != steps.end()) return static_cast<std::uint16_t>(at - steps.begin());
    steps.push_back(std::move(step));
    return static_cast<std::uint16_t>(steps.size() - 1);
  }

  const Partition& partition_;
  const Graph& graph_;
  const GroupDraft& draft_;
  std::vector<bool> needed_, stored_;
  std::vector<std::uint16_t> values_;  // per member: its step
  std::vector<NestArgument> arguments_;
  Group group_;
};

}  // namespace

Group build_group(const Partition& partition, const GroupDraft& draft) {
  return SpecBuilder(partition, draft).build();
}

}  // namespace spyre::lazy
