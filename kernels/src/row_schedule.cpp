// spyre/kernels/row_schedule.cpp — assigns passes, then decides between keeping a value and computing it again.
#include "row_schedule.h"

#include <algorithm>

#include "spyre/kernels/builder.h"

namespace spyre::kernels {
namespace {

/// About the micro-ops that reading a value back from the scratchpad costs.
constexpr std::size_t kReadBackCost = 3;

bool is_element_store(const Step& s) {
  return s.kind == Step::Kind::Store && s.level == Level::Element;
}

bool reads_memory(const KernelSpec& spec, std::size_t i) {
  const Step& s = spec.steps[i];
  if (s.kind != Step::Kind::Load || s.level != Level::Element) return false;
  return spec.arguments[s.argument].kind == ArgumentSpec::Kind::Load;
}

std::size_t cost_of(const MicroInstruction& in) {
  switch (in.op) {
    case Micro::Const:
    case Micro::Input: return 0;
    case Micro::Div:
    case Micro::Sqrt: return 8;
    case Micro::Math1:
    case Micro::Math2:
    case Micro::IntDivTrunc:
    case Micro::IntRem: return 50;
    default: return 1;
  }
}

std::vector<std::uint16_t> first_passes(const KernelSpec& spec) {
  std::vector<std::uint16_t> pass(spec.steps.size(), 0);
  for (std::size_t i = 0; i < pass.size(); ++i) {
    const Step& s = spec.steps[i];
    for (const std::uint16_t input : s.inputs) pass[i] = std::max(pass[i], pass[input]);
    if (s.kind == Step::Kind::Reduce) ++pass[i];
  }
  return pass;
}

/// Micro-ops and loads to compute step `i` anew.
std::size_t cost_again(const KernelSpec& spec, const RowSchedule& plan, std::uint16_t i) {
  const std::vector<bool> needed = needed_steps(spec, {i}, available_in(spec, plan, plan.pass[i]));
  MicroProgram program;
  Builder b(program, spec.numerics);
  std::vector<Value> values(spec.steps.size());
  std::size_t cost = 0;
  for (std::size_t k = 0; k <= i; ++k) {
    const Step& s = spec.steps[k];
    if (needed[k] && s.kind == Step::Kind::Apply) {
      values[k] = apply(b, spec, k, values);
    } else if (s.kind != Step::Kind::Store) {
      values[k] = b.input(static_cast<std::uint16_t>(k), lane_of(s.result));
      if (needed[k] && spec.arguments[s.argument].inner != InnerStride::Zero) ++cost;
    }
  }
  for (const MicroInstruction& in : program) cost += cost_of(in);
  return cost;
}

/// In how many passes each step is computed or loaded.
std::vector<std::uint16_t> passes_needing(const KernelSpec& spec, const RowSchedule& plan) {
  std::vector<std::uint16_t> count(spec.steps.size(), 0);
  for (std::uint16_t p = 0; p < plan.passes; ++p) {
    const std::vector<bool> needed =
        needed_steps(spec, sinks_of(spec, plan, p), available_in(spec, plan, p));
    for (std::size_t i = 0; i < needed.size(); ++i)
      count[i] = static_cast<std::uint16_t>(count[i] + needed[i]);
  }
  return count;
}

/// Whether pass `p` itself reads step `i`, rather than only through other steps of earlier passes.
bool borders_on(const KernelSpec& spec, const RowSchedule& plan, std::uint16_t p, std::uint16_t i,
                const std::vector<bool>& needed) {
  const std::vector<std::uint16_t> sinks = sinks_of(spec, plan, p);
  if (std::ranges::find(sinks, i) != sinks.end()) return true;
  for (std::size_t k = i + std::size_t{1}; k < needed.size(); ++k) {
    const std::vector<std::uint16_t>& inputs = spec.steps[k].inputs;
    if (needed[k] && plan.pass[k] >= p && std::ranges::find(inputs, i) != inputs.end()) return true;
  }
  return false;
}

void choose_saved(const KernelSpec& spec, RowSchedule& plan) {
  const std::vector<std::uint16_t> uses = passes_needing(spec, plan);
  for (std::uint16_t p = 1; p < plan.passes; ++p) {
    const std::vector<bool> needed =
        needed_steps(spec, sinks_of(spec, plan, p), available_in(spec, plan, p));
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const auto step = static_cast<std::uint16_t>(i);
      if (!needed[i] || plan.pass[i] >= p || spec.steps[i].kind != Step::Kind::Apply) continue;
      const bool candidate = uses[i] > 1 && borders_on(spec, plan, p, step, needed);
      if (candidate && cost_again(spec, plan, step) > kReadBackCost) plan.saved[i] = true;
    }
  }
}

/// A store may overwrite what a later pass would load again (an in-place kernel), so stores wait for the last load.
void delay_stores(const KernelSpec& spec, RowSchedule& plan) {
  std::uint16_t last_load = 0;
  for (std::uint16_t p = 0; p < plan.passes; ++p) {
    std::vector<std::uint16_t> roots = sinks_of(spec, plan, p);
    const std::vector<bool> needed = needed_steps(spec, roots, available_in(spec, plan, p));
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && reads_memory(spec, i)) last_load = p;
  }
  for (std::size_t i = 0; i < spec.steps.size(); ++i)
    if (is_element_store(spec.steps[i])) plan.pass[i] = std::max(plan.pass[i], last_load);
}

}  // namespace

std::vector<std::uint16_t> sinks_of(const KernelSpec& spec, const RowSchedule& plan,
                                    std::uint16_t p) {
  std::vector<std::uint16_t> sinks;
  for (std::size_t i = 0; i < spec.steps.size(); ++i) {
    const Step& s = spec.steps[i];
    const bool reduces_here = s.kind == Step::Kind::Reduce && plan.pass[i] == p + 1;
    if (reduces_here || (is_element_store(s) && plan.pass[i] == p)) sinks.push_back(s.inputs[0]);
    if (plan.saved[i] && plan.pass[i] == p) sinks.push_back(static_cast<std::uint16_t>(i));
  }
  return sinks;
}

std::vector<bool> available_in(const KernelSpec& spec, const RowSchedule& plan, std::uint16_t p) {
  std::vector<bool> available(spec.steps.size());
  for (std::size_t i = 0; i < available.size(); ++i)
    available[i] = spec.steps[i].level != Level::Element || (plan.saved[i] && plan.pass[i] < p);
  return available;
}

std::vector<bool> needed_steps(const KernelSpec& spec, const std::vector<std::uint16_t>& roots,
                               const std::vector<bool>& available) {
  std::vector<bool> needed(spec.steps.size());
  for (const std::uint16_t root : roots) needed[root] = !available[root];
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const std::uint16_t input : spec.steps[i].inputs)
        if (!available[input]) needed[input] = true;
  return needed;
}

RowSchedule schedule(const KernelSpec& spec) {
  RowSchedule plan{.pass = first_passes(spec), .saved = std::vector<bool>(spec.steps.size())};
  for (std::size_t i = 0; i < spec.steps.size(); ++i) {
    const Step& s = spec.steps[i];
    if (s.kind == Step::Kind::Reduce) plan.passes = std::max(plan.passes, plan.pass[i]);
    if (is_element_store(s)) plan.passes = std::max<std::uint16_t>(plan.passes, plan.pass[i] + 1);
  }
  choose_saved(spec, plan);
  delay_stores(spec, plan);
  choose_saved(spec, plan);
  return plan;
}

}  // namespace spyre::kernels
