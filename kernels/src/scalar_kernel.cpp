// spyre/kernels/scalar_kernel.cpp — runs a KernelSpec step by step: the oracle for the emitted code.
//
// Each step becomes one micro-op program, run over the lanes at hand: a block of points (Pointwise), a whole row
// (Row), the columns of a block at one reduced index (Column). Values stand in plain arrays between steps. There
// is no scheduling, no fusion of passes and no shared code with the emitters beyond the op boundary, apply().
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "accumulator.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/kernels/interpreter.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/reduction_rule.h"
#include "storage_cell.h"

namespace spyre::kernels {
namespace {

constexpr std::size_t kReductionLanes = 16;

/// Launches carry addresses as numbers.
std::byte* element(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Each lane's elements in runs of kRun, added in float32; the lanes stay interleaved.
std::vector<std::uint64_t> run_totals(const std::vector<std::uint64_t>& cells) {
  std::vector<std::uint64_t> totals;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t group = i / kReductionLanes;
    if (group % kRun == 0) {
      totals.push_back(cells[i]);
      continue;
    }
    std::uint64_t& total = totals[group / kRun * kReductionLanes + i % kReductionLanes];
    total =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(static_cast<std::uint32_t>(total)) +
                                     std::bit_cast<float>(static_cast<std::uint32_t>(cells[i])));
  }
  return totals;
}

/// What a step does to its inputs, which the program numbers by their place in `inputs`. A value.
struct StepProgram {
  MicroProgram code;         // Apply: the body; Reduce, Store: the conversion of the input
  std::uint16_t result = 0;  // the instruction whose value it is
  MicroProgram finish;       // Reduce: the conversion of the outcome
  std::uint16_t finish_result = 0;
};

StepProgram compile_step(const KernelSpec& spec, std::size_t index) {
  const Step& s = spec.steps[index];
  StepProgram program;
  Builder b(program.code, spec.numerics);
  std::vector<Value> values(spec.steps.size());
  for (std::size_t k = 0; k < s.inputs.size(); ++k)
    values[s.inputs[k]] =
        b.input(static_cast<std::uint16_t>(k), lane_of(spec.steps[s.inputs[k]].result));
  switch (s.kind) {
    case Step::Kind::Apply: program.result = apply(b, spec, index, values).index; break;
    case Step::Kind::Store:
      program.result = b.convert_to(values[s.inputs[0]], spec.arguments[s.argument].dtype).index;
      break;
    case Step::Kind::Reduce: {
      program.result = b.convert_to(values[s.inputs[0]], s.compute).index;
      Builder finish(program.finish, spec.numerics);
      const Value outcome = finish.input(0, Accumulator::outcome_lane(s.reduction, s.compute));
      program.finish_result = finish.convert_to(outcome, s.result).index;
      break;
    }
    default: break;
  }
  return program;
}

/// The state of one run() call. Confined to it.
class Run {
 public:
  Run(const KernelSpec& spec, const std::vector<StepProgram>& programs,
      const LaunchArguments& launch)
      : spec_(spec),
        programs_(programs),
        launch_(launch),
        cells_(spec.steps.size()),
        states_(spec.steps.size()),
        coordinates_(spec.rank),
        awaits_(spec.steps.size()) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const Step& s = spec.steps[i];
      awaits_[i] = s.kind == Step::Kind::Reduce ||
                   std::ranges::any_of(s.inputs, [&](std::size_t k) { return awaits_[k]; });
    }
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (spec.steps[i].level == Level::Uniform) compute(i, 1);
  }

  void run_item(std::int64_t item) {
    switch (spec_.form) {
      case Form::Pointwise: return run_points(item);
      case Form::Row: return run_row(item);
      case Form::Column: return run_columns(item);
    }
  }

 private:
  std::int64_t extent(std::size_t dimension) const { return launch_.extents[dimension]; }
  std::size_t inner() const { return spec_.rank - 1U; }

  /// Sets the outer coordinates from a number that counts them, innermost fastest.
  void set_outer(std::int64_t number, std::size_t dimensions) {
    for (std::size_t d = dimensions; d-- > 0;) {
      coordinates_[d] = number % extent(d);
      number /= extent(d);
    }
  }

  void run_points(std::int64_t item) {
    const std::int64_t blocks =
        (extent(inner()) + Kernel::kPointwiseBlock - 1) / Kernel::kPointwiseBlock;
    set_outer(item / blocks, inner());
    const std::int64_t first = item % blocks * Kernel::kPointwiseBlock;
    const std::int64_t last = std::min(first + Kernel::kPointwiseBlock, extent(inner()));
    for (std::int64_t i = first; i < last; i += kBlockLanes) {
      coordinates_[inner()] = i;
      run_steps(static_cast<std::size_t>(std::min<std::int64_t>(last - i, kBlockLanes)));
    }
  }

  void run_row(std::int64_t item) {
    set_outer(item, inner());
    coordinates_[inner()] = 0;
    run_steps(static_cast<std::size_t>(extent(inner())));
  }

  /// Stores come last, so that an output may take the place of an input.
  void run_steps(std::size_t lanes) {
    for (const bool stores : {false, true}) {
      for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
        const Step& s = spec_.steps[i];
        if (s.level == Level::Uniform || (s.kind == Step::Kind::Store) != stores) continue;
        if (s.kind == Step::Kind::Reduce) reduce_row(i, lanes);
        else compute(i, s.level == Level::Element ? lanes : 1);
      }
    }
  }

  /// 16 interleaved lanes, folded pairwise.
  void reduce_row(std::size_t step, std::size_t lanes) {
    const Step& s = spec_.steps[step];
    std::vector<std::uint64_t> cells = evaluated(step, lanes);
    if (adds_in_runs(s.reduction, s.compute, spec_.numerics)) cells = run_totals(cells);
    std::vector<Accumulator> state(kReductionLanes,
                                   Accumulator(s.reduction, s.compute, spec_.numerics));
    for (std::size_t i = 0; i < cells.size(); ++i)
      state[i % kReductionLanes].add(cells[i], static_cast<std::int64_t>(i));
    for (std::size_t half = kReductionLanes / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) state[i].merge(state[i + half]);
    states_[step] = {state[0]};
    finish(step);
  }

  void run_columns(std::int64_t item) {
    const std::int64_t blocks = (extent(inner()) + Kernel::kColumnBlock - 1) / Kernel::kColumnBlock;
    set_outer(item / blocks, spec_.rank - 2U);
    const std::int64_t first = item % blocks * Kernel::kColumnBlock;
    const auto lanes =
        static_cast<std::size_t>(std::min(Kernel::kColumnBlock, extent(inner()) - first));
    std::int64_t& reduced = coordinates_[inner() - 1];
    coordinates_[inner()] = first;
    reduced = 0;
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      const Step& s = spec_.steps[i];
      if (s.kind == Step::Kind::Reduce)
        states_[i].assign(lanes, Accumulator(s.reduction, s.compute, spec_.numerics));
      if (s.level == Level::Result && s.kind != Step::Kind::Store && !awaits_[i]) compute(i, lanes);
    }
    for (; reduced < extent(inner() - 1); ++reduced) run_column_elements(lanes);
    reduced = 0;
    run_column_results(lanes);
  }

  void run_column_elements(std::size_t lanes) {
    for (const bool stores : {false, true}) {
      for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
        const Step& s = spec_.steps[i];
        if ((s.kind == Step::Kind::Store) != stores) continue;
        if (s.kind == Step::Kind::Reduce) add_to_columns(i, lanes);
        else if (s.level == Level::Element) compute(i, lanes);
      }
    }
  }

  void add_to_columns(std::size_t step, std::size_t lanes) {
    const std::vector<std::uint64_t> cells = evaluated(step, lanes);
    for (std::size_t i = 0; i < lanes; ++i)
      states_[step][i].add(cells[i], coordinates_[inner() - 1]);
  }

  void run_column_results(std::size_t lanes) {
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      const Step& s = spec_.steps[i];
      if (s.level != Level::Result) continue;
      if (s.kind == Step::Kind::Reduce) finish(i);
      else if (awaits_[i] || s.kind == Step::Kind::Store) compute(i, lanes);
    }
  }

  /// The step's value, or its effect on memory, in `lanes` lanes from the current coordinates.
  void compute(std::size_t step, std::size_t lanes) {
    const Step& s = spec_.steps[step];
    switch (s.kind) {
      case Step::Kind::Load: return load(step, lanes);
      case Step::Kind::Param:
        cells_[step] = {
            load_cell(s.result, reinterpret_cast<const std::byte*>(&launch_.params[s.argument]))};
        return;
      case Step::Kind::Store: return store(s, evaluated(step, lanes));
      default: cells_[step] = evaluated(step, lanes);
    }
  }

  /// The value of the step's program.
  std::vector<std::uint64_t> evaluated(std::size_t step, std::size_t lanes) {
    const StepProgram& program = programs_[step];
    std::vector<std::uint64_t> out(lanes);
    registers_.resize(program.code.size() * kBlockLanes);
    std::vector<LaneInput> inputs(spec_.steps[step].inputs.size());
    for (std::size_t first = 0; first < lanes; first += kBlockLanes) {
      for (std::size_t k = 0; k < inputs.size(); ++k)
        inputs[k] = input(spec_.steps[step].inputs[k], first);
      const std::size_t count = std::min(lanes - first, kBlockLanes);
      evaluate(program.code, inputs, count, registers_.data());
      std::copy_n(&registers_[program.result * kBlockLanes], count, &out[first]);
    }
    return out;
  }

  LaneInput input(std::uint16_t step, std::size_t first) const {
    const Level level = spec_.steps[step].level;
    const bool uniform =
        level == Level::Uniform || (spec_.form == Form::Row && level == Level::Result);
    return {uniform ? cells_[step].data() : &cells_[step][first], uniform};
  }

  void finish(std::size_t step) {
    const StepProgram& program = programs_[step];
    std::vector<std::uint64_t> registers(program.finish.size() * kBlockLanes);
    cells_[step].clear();
    for (const Accumulator& state : states_[step]) {
      const std::uint64_t outcome = state.outcome();
      evaluate(program.finish, std::array{LaneInput{&outcome, true}}, 1, registers.data());
      cells_[step].push_back(registers[program.finish_result * kBlockLanes]);
    }
  }

  std::int64_t stride(std::uint16_t argument, std::size_t dimension) const {
    return launch_.strides[std::size_t{argument} * spec_.rank + dimension];
  }

  /// Address of the first lane (Iota: its value).
  std::uint64_t start(std::uint16_t argument) const {
    std::uint64_t at = launch_.bases[argument];
    for (std::size_t d = 0; d < spec_.rank; ++d)
      at += static_cast<std::uint64_t>(coordinates_[d] * stride(argument, d));
    return at;
  }

  void load(std::size_t step, std::size_t lanes) {
    const Step& s = spec_.steps[step];
    const ArgumentSpec& argument = spec_.arguments[s.argument];
    std::uint64_t at = start(s.argument);
    cells_[step].resize(lanes);
    for (std::uint64_t& cell : cells_[step]) {
      cell =
          argument.kind == ArgumentSpec::Kind::Iota ? at : load_cell(argument.dtype, element(at));
      at += static_cast<std::uint64_t>(stride(s.argument, inner()));
    }
  }

  void store(const Step& s, const std::vector<std::uint64_t>& cells) const {
    std::uint64_t at = start(s.argument);
    for (const std::uint64_t cell : cells) {
      store_cell(spec_.arguments[s.argument].dtype, element(at), cell);
      at += static_cast<std::uint64_t>(stride(s.argument, inner()));
    }
  }

  const KernelSpec& spec_;
  const std::vector<StepProgram>& programs_;
  const LaunchArguments& launch_;
  std::vector<std::vector<std::uint64_t>> cells_;  // by step
  std::vector<std::vector<Accumulator>> states_;   // by step: one, or one per column
  std::vector<std::int64_t> coordinates_;
  std::vector<bool> awaits_;  // by step: needs the outcome of a reduction
  std::vector<std::uint64_t> registers_;
};

/// Immutable; each run has its own state.
class ScalarKernel final : public Kernel {
 public:
  explicit ScalarKernel(const KernelSpec& spec) : Kernel(spec) {
    for (std::size_t i = 0; i < spec.steps.size(); ++i)
      programs_.push_back(compile_step(this->spec(), i));
  }

  void run(const LaunchArguments& launch, std::int64_t first, std::int64_t last,
           std::byte*) const override {
    Run state(spec(), programs_, launch);
    for (std::int64_t item = first; item < last; ++item) state.run_item(item);
  }
  Bytes scratch_bytes(const std::int64_t*) const override { return {}; }
  Bytes code_bytes() const override { return {}; }
  std::string listing() const override {
    std::string text = spec().print();
    for (std::size_t i = 0; i < programs_.size(); ++i)
      if (!programs_[i].code.empty()) text += str("%", i, ":\n", print(programs_[i].code));
    return text;
  }

 private:
  std::vector<StepProgram> programs_;
};

}  // namespace

std::unique_ptr<Kernel> interpret(const KernelSpec& spec) {
  spec.verify();
  return std::make_unique<ScalarKernel>(spec);
}

}  // namespace spyre::kernels
