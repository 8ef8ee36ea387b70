// spyre/kernels/invariants.cpp — see invariants.h.
#include "invariants.h"

#include <algorithm>
#include <optional>

namespace spyre::kernels {
namespace {

/// Where the value of an instruction could be known at the latest. Constants are known anywhere.
enum class Varies : std::uint8_t { Never, PerRun, PerRow, PerPoint };

Varies of_input(const MicroInstruction& in, const KernelSpec& spec) {
  if (in.imm >= spec.steps.size()) return Varies::PerPoint;
  switch (spec.steps[in.imm].level) {
    case Level::Uniform: return Varies::PerRun;
    case Level::Result: return Varies::PerRow;
    default: return Varies::PerPoint;
  }
}

std::vector<Varies> variation_of(const MicroProgram& program, const KernelSpec& spec) {
  std::vector<Varies> varies(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    const MicroInstruction& in = program[i];
    if (in.op == Micro::Input) varies[i] = of_input(in, spec);
    each_operand(in,
                 [&](std::uint16_t operand) { varies[i] = std::max(varies[i], varies[operand]); });
    // A fault stays where it happens.
    if (in.op == Micro::IntDivTrunc || in.op == Micro::IntRem) varies[i] = Varies::PerPoint;
  }
  return varies;
}

/// Moves instructions of one program. Confined to hoist_invariants().
class Hoisting {
 public:
  Hoisting(LoweredKernel& kernel, Pass& pass)
      : kernel_(kernel),
        pass_(pass),
        source_(pass.points.program),
        original_(source_),
        varies_(variation_of(source_, kernel.spec)),
        before_{pass.before, std::vector<std::optional<std::uint16_t>>(original_.size())},
        uniform_{kernel.uniform, before_.positions} {}

  void run() {
    std::vector<bool> read_at_points(source_.size());
    const auto mark = [&](std::uint16_t i) { read_at_points[i] = true; };
    pass_.points.each_output(mark);
    for (std::size_t i = source_.size(); i-- > 0;) {
      // A mask is made where it is used: no value of a kernel is one.
      if (read_at_points[i] && source_[i].lane == Lane::Mask) varies_[i] = Varies::PerPoint;
      if (varies_[i] == Varies::PerPoint) each_operand(source_[i], mark);
    }
    for (std::size_t i = 0; i < source_.size(); ++i)
      if (read_at_points[i] && varies_[i] != Varies::PerPoint && computes(i)) publish(i);
  }

 private:
  bool computes(std::size_t i) const { return operand_count(source_[i].op) != 0; }

  /// Where moved instructions go, and by original position where each has gone.
  struct Home {
    Segment& segment;
    std::vector<std::optional<std::uint16_t>> positions;
  };

  Home& home(Varies varies) { return varies == Varies::PerRow ? before_ : uniform_; }

  /// The instruction at points becomes an input; its original moves.
  void publish(std::size_t i) {
    const Varies varies = varies_[i];
    const auto number = static_cast<std::uint16_t>(kernel_.value_count());
    ++kernel_.hoisted;
    Home& target = home(varies);
    const std::uint16_t position = copied(static_cast<std::uint16_t>(i), target);
    target.segment.results.push_back({number, position});
    source_[i] = {.op = Micro::Input, .lane = source_[i].lane, .imm = number};
  }

  /// Appends instruction `i` of the original program and what it needs, unless it is there.
  std::uint16_t copied(std::uint16_t i, Home& target) {
    std::optional<std::uint16_t>& known = target.positions[i];
    if (!known) known = appended(i, target);
    return *known;
  }

  std::uint16_t appended(std::uint16_t i, Home& target) {
    MicroInstruction in = original_[i];
    if (in.op == Micro::Input)
      for (const Binding& made : target.segment.results)
        if (made.value == in.imm) return made.position;
    each_operand(in, [&](std::uint16_t& operand) { operand = copied(operand, target); });
    MicroProgram& program = target.segment.program;
    const auto at = std::ranges::find(program, in) - program.begin();
    if (static_cast<std::size_t>(at) == program.size()) program.push_back(in);
    return static_cast<std::uint16_t>(at);
  }

  LoweredKernel& kernel_;
  Pass& pass_;
  MicroProgram& source_;
  const MicroProgram original_;
  std::vector<Varies> varies_;
  Home before_, uniform_;
};

void note_inputs(const MicroProgram& program, std::vector<bool>& read) {
  for (const MicroInstruction& in : program)
    if (in.op == Micro::Input) read[in.imm] = true;
}

/// Parameters that only moved instructions read are no longer kept for the loops.
void drop_unread_results(LoweredKernel& kernel) {
  std::vector<bool> read(kernel.value_count());
  for (const Pass& pass : kernel.passes) {
    note_inputs(pass.before.program, read);
    note_inputs(pass.points.program, read);
  }
  note_inputs(kernel.after.program, read);
  for (const LoweredReduction& r : kernel.reductions) note_inputs(r.combine.program, read);
  std::erase_if(kernel.uniform.results, [&](const Binding& b) { return !read[b.value]; });
}

}  // namespace

void remove_dead(Segment& segment) {
  const MicroProgram& program = segment.program;
  std::vector<bool> live(program.size());
  const auto mark = [&](std::uint16_t i) { live[i] = true; };
  segment.each_output(mark);
  for (std::size_t i = program.size(); i-- > 0;)
    if (live[i]) each_operand(program[i], mark);
  std::vector<std::uint16_t> renumbered(program.size());
  const auto renumber = [&](std::uint16_t& i) { i = renumbered[i]; };
  MicroProgram kept;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (!live[i]) continue;
    renumbered[i] = static_cast<std::uint16_t>(kept.size());
    kept.push_back(program[i]);
    each_operand(kept.back(), renumber);
  }
  segment.program = std::move(kept);
  segment.each_output(renumber);
  std::erase_if(segment.loads, [&](std::uint16_t step) {
    return std::ranges::none_of(segment.program, [&](const MicroInstruction& in) {
      return in.op == Micro::Input && in.imm == step;
    });
  });
}

void hoist_invariants(LoweredKernel& kernel) {
  for (Pass& pass : kernel.passes) Hoisting(kernel, pass).run();
  for (Pass& pass : kernel.passes) remove_dead(pass.points);
  drop_unread_results(kernel);
  remove_dead(kernel.uniform);
}

}  // namespace spyre::kernels
