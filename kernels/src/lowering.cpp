// spyre/kernels/lowering.cpp — fills the segments of a LoweredKernel from the schedule of its steps.
#include "spyre/kernels/lowering.h"

#include <algorithm>

#include "invariants.h"
#include "row_schedule.h"
#include "spyre/base/text.h"
#include "spyre/kernels/builder.h"

namespace spyre::kernels {
namespace {

/// Appends steps to one segment. Steps of other segments are read as kernel values. Confined to lower().
class SegmentBuilder {
 public:
  SegmentBuilder(const KernelSpec& spec, Segment& segment)
      : spec_(spec),
        segment_(segment),
        builder_(segment.program, spec.numerics),
        values_(spec.steps.size()),
        known_(spec.steps.size()) {}

  Builder& builder() { return builder_; }

  Value value(std::uint16_t step) {
    if (!known_[step]) set(step, builder_.input(step, lane_of(spec_.steps[step].result)));
    return values_[step];
  }

  void set(std::uint16_t step, Value v) {
    values_[step] = v;
    known_[step] = true;
  }

  void apply_step(std::uint16_t step) {
    for (const std::uint16_t input : spec_.steps[step].inputs) value(input);
    set(step, apply(builder_, spec_, step, values_));
  }

  void load(std::uint16_t step) {
    segment_.loads.push_back(step);
    value(step);
  }

  void store(std::uint16_t step) {
    const Step& s = spec_.steps[step];
    const DType to = spec_.arguments[s.argument].dtype;
    Value v = value(s.inputs[0]);
    if (spec_.steps[s.inputs[0]].result != to) v = builder_.convert_to(v, to);
    segment_.stores.push_back({s.argument, v.index});
  }

  void publish(std::uint16_t step) { segment_.results.push_back({step, value(step).index}); }
  void finish() { remove_dead(segment_); }

 private:
  const KernelSpec& spec_;
  Segment& segment_;
  Builder builder_;
  std::vector<Value> values_;
  std::vector<bool> known_;
};

/// Confined to lower().
class Lowering {
 public:
  explicit Lowering(const KernelSpec& spec) : spec_(spec), plan_(schedule(spec)) {
    out_.spec = spec;
    if (spec.form != Form::Row) plan_.passes = 1;
    out_.passes.resize(plan_.passes);
  }

  LoweredKernel run() {
    number_reductions();
    place_result_loads();
    lower_uniform();
    for (std::size_t i = 0; i < spec_.steps.size(); ++i)
      if (plan_.saved[i]) out_.saved.push_back(static_cast<std::uint16_t>(i));
    for (std::uint16_t p = 0; p < plan_.passes; ++p) {
      lower_results(p, out_.passes[p].before);
      lower_points(p);
    }
    lower_results(plan_.passes, out_.after);
    for (LoweredReduction& r : out_.reductions) {
      lower_combine(r);
      if (r.in_runs) lower_end_of_run(r);
    }
    hoist_invariants(out_);
    return std::move(out_);
  }

 private:
  const Step& step(std::size_t i) const { return spec_.steps[i]; }

  void number_reductions() {
    auto next = static_cast<std::uint16_t>(spec_.steps.size() + 1);
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      if (step(i).kind != Step::Kind::Reduce) continue;
      LoweredReduction r;
      r.step = static_cast<std::uint16_t>(i);
      r.pass = static_cast<std::uint16_t>(plan_.pass[i] - 1);
      r.first_state = next;
      r.states = state_rules(step(i).reduction, step(i).compute);
      r.in_runs = spec_.form == Form::Row &&
                  adds_in_runs(step(i).reduction, step(i).compute, spec_.numerics);
      if (r.in_runs) r.states.push_back(kRunTotal);
      next = static_cast<std::uint16_t>(next + r.states.size());
      out_.reductions.push_back(std::move(r));
    }
  }

  /// A load per row happens where its value is first needed.
  void place_result_loads() {
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      if (step(i).kind != Step::Kind::Load || step(i).level != Level::Result) continue;
      std::uint16_t home = plan_.passes;
      for (std::size_t k = i + 1; k < spec_.steps.size(); ++k) {
        const std::vector<std::uint16_t>& inputs = step(k).inputs;
        if (std::ranges::find(inputs, i) == inputs.end()) continue;
        // An Element step may be computed again in several passes: the first decides.
        const bool result_store =
            step(k).kind == Step::Kind::Store && step(k).level == Level::Result;
        if (!result_store) home = std::min(home, plan_.pass[k]);
      }
      plan_.pass[i] = home;
    }
  }

  void lower_uniform() {
    SegmentBuilder b(spec_, out_.uniform);
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      if (step(i).level != Level::Uniform) continue;
      const auto number = static_cast<std::uint16_t>(i);
      if (step(i).kind == Step::Kind::Param) b.load(number);
      if (step(i).kind == Step::Kind::Apply) b.apply_step(number);
      b.publish(number);
    }
    b.finish();
  }

  /// Result steps that are known before pass `p`; at the end, the stores of results too.
  void lower_results(std::uint16_t p, Segment& segment) {
    SegmentBuilder b(spec_, segment);
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      const auto number = static_cast<std::uint16_t>(i);
      if (step(i).level != Level::Result) continue;
      if (step(i).kind == Step::Kind::Store) {
        if (p == plan_.passes) b.store(number);
        continue;
      }
      if (plan_.pass[i] != p) continue;
      if (step(i).kind == Step::Kind::Load) b.load(number);
      if (step(i).kind == Step::Kind::Apply) b.apply_step(number);
      if (step(i).kind == Step::Kind::Reduce) b.set(number, outcome(b.builder(), number));
      b.publish(number);
    }
    b.finish();
  }

  const LoweredReduction& reduction_of(std::uint16_t number) const {
    return *std::ranges::find_if(out_.reductions,
                                 [&](const LoweredReduction& r) { return r.step == number; });
  }

  static std::vector<Value> state_inputs(Builder& b, const LoweredReduction& r,
                                         std::uint16_t first) {
    std::vector<Value> state;
    state.reserve(r.states.size());
    for (std::size_t k = 0; k < r.states.size(); ++k)
      state.push_back(b.input(static_cast<std::uint16_t>(first + k), r.states[k].lane));
    return state;
  }

  static void publish_states(Segment& segment, std::uint16_t first,
                             const std::vector<Value>& state) {
    for (std::size_t k = 0; k < state.size(); ++k)
      segment.results.push_back({static_cast<std::uint16_t>(first + k), state[k].index});
  }

  Value outcome(Builder& b, std::uint16_t number) const {
    const LoweredReduction& r = reduction_of(number);
    return kernels::finish(b, step(number).reduction, state_inputs(b, r, r.first_state),
                           step(number).result);
  }

  void lower_points(std::uint16_t p) {
    Segment& segment = out_.passes[p].points;
    const std::vector<bool> available = available_in(spec_, plan_, p);
    const std::vector<bool> needed = needed_steps(spec_, sinks_of(spec_, plan_, p), available);
    SegmentBuilder b(spec_, segment);
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      if (!needed[i]) continue;
      const auto number = static_cast<std::uint16_t>(i);
      if (step(i).kind == Step::Kind::Load) b.load(number);
      if (step(i).kind == Step::Kind::Apply) b.apply_step(number);
      if (plan_.saved[i] && plan_.pass[i] == p)
        segment.saves.push_back({number, b.value(number).index});
    }
    lower_sinks(p, b, segment);
    b.finish();
    note_restores(segment, available);
  }

  /// What the program reads of the values that earlier passes kept.
  void note_restores(Segment& segment, const std::vector<bool>& available) const {
    for (const MicroInstruction& in : segment.program) {
      if (in.op != Micro::Input || in.imm >= spec_.steps.size()) continue;
      if (plan_.saved[in.imm] && available[in.imm])
        segment.restores.push_back(static_cast<std::uint16_t>(in.imm));
    }
  }

  bool stores_in(std::uint16_t p, std::size_t i) const {
    return step(i).kind == Step::Kind::Store && step(i).level == Level::Element &&
           plan_.pass[i] == p;
  }

  void lower_sinks(std::uint16_t p, SegmentBuilder& b, Segment& segment) {
    for (const LoweredReduction& r : out_.reductions) {
      if (r.pass != p) continue;
      const Step& s = step(r.step);
      Value x = b.value(s.inputs[0]);
      if (step(s.inputs[0]).result != s.compute) x = b.builder().convert_to(x, s.compute);
      const Value position = b.builder().input(out_.position_value(), Lane::I64);
      const std::vector<Value> state = state_inputs(b.builder(), r, r.first_state);
      if (r.in_runs) publish_states(segment, run_total(r), {b.builder().add(state[1], x)});
      else
        publish_states(segment, r.first_state,
                       accumulate(b.builder(), s.reduction, s.compute, x, position, state));
    }
    for (std::size_t i = 0; i < spec_.steps.size(); ++i)
      if (stores_in(p, i)) b.store(static_cast<std::uint16_t>(i));
  }

  void lower_combine(LoweredReduction& r) {
    Builder b(r.combine.program, spec_.numerics);
    const std::vector<Value> left = state_inputs(b, r, r.first_state);
    const std::vector<Value> right = state_inputs(b, r, out_.partner(r.first_state));
    const Step& s = step(r.step);
    publish_states(r.combine, r.first_state, combine(b, s.reduction, s.compute, left, right));
    remove_dead(r.combine);
  }

  static std::uint16_t run_total(const LoweredReduction& r) {
    return static_cast<std::uint16_t>(r.first_state + 1);
  }

  void lower_end_of_run(LoweredReduction& r) const {
    Builder b(r.end_run.program, spec_.numerics);
    const std::vector<Value> state = state_inputs(b, r, r.first_state);
    const Step& s = step(r.step);
    publish_states(r.end_run, r.first_state,
                   accumulate(b, s.reduction, s.compute, state[1], Value{}, state));
  }

  const KernelSpec& spec_;
  RowSchedule plan_;
  LoweredKernel out_;
};

}  // namespace

std::uint16_t LoweredKernel::state_count() const {
  std::size_t count = 0;
  for (const LoweredReduction& r : reductions) count += r.states.size();
  return static_cast<std::uint16_t>(count);
}

bool LoweredKernel::reads_position() const {
  return std::ranges::any_of(
      reductions, [&](const LoweredReduction& r) { return is_arg(spec.steps[r.step].reduction); });
}

std::string LoweredKernel::print() const {
  std::string text = spec.print();
  const auto part = [&](std::string_view title, const Segment& segment) {
    if (!segment.program.empty()) text += str(title, ":\n", kernels::print(segment.program));
  };
  part("once per run", uniform);
  for (std::size_t p = 0; p < passes.size(); ++p) {
    part(str("before pass ", p), passes[p].before);
    part(str("pass ", p), passes[p].points);
  }
  part("after", after);
  return text;
}

LoweredKernel lower(const KernelSpec& spec) { return Lowering(spec).run(); }

}  // namespace spyre::kernels
