// spyre/kernels/lowering.h — a KernelSpec as straight-line micro-op programs, placed in the passes of its loop nest.
//
// Kernel values are numbered: the steps first, then the position along the reduced dimension, then the running
// states of the reductions, then the states they are combined with, then values that were moved out of a loop.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "spyre/kernels/kernel_spec.h"
#include "spyre/kernels/micro_op.h"
#include "spyre/kernels/reduction_rule.h"

namespace spyre::kernels {

/// Makes the result of instruction `position` known to other programs as kernel value `value`.
struct Binding {
  std::uint16_t value = 0;
  std::uint16_t position = 0;
};

/// Writes the result of instruction `position`, already in the argument's type.
struct StoreOut {
  std::uint16_t argument = 0;
  std::uint16_t position = 0;
};

/// Calls `f` on the number of each operand of `in`.
template <class Instruction, class F> void each_operand(Instruction& in, F f) {
  const std::uint8_t operands = operand_count(in.op);
  if (operands > 0) f(in.a);
  if (operands > 1) f(in.b);
  if (operands > 2) f(in.c);
}

/// A program and what surrounds it. All inputs that it reads are loaded, kept, or made by an earlier segment.
struct Segment {
  MicroProgram program;
  std::vector<std::uint16_t> loads;     // Load steps read here
  std::vector<std::uint16_t> restores;  // values read back from the scratchpad row
  std::vector<Binding> saves;           // values put into the scratchpad row
  std::vector<Binding> results;         // values for later segments, or new reduction states
  std::vector<StoreOut> stores;

  /// Calls `f` on the number of each instruction whose value leaves the program.
  template <class F> void each_output(F f) {
    for (Binding& x : saves) f(x.position);
    for (Binding& x : results) f(x.position);
    for (StoreOut& x : stores) f(x.position);
  }
  template <class F> void each_output(F f) const {
    for (const Binding& x : saves) f(x.position);
    for (const Binding& x : results) f(x.position);
    for (const StoreOut& x : stores) f(x.position);
  }
};

/// A reduction whose states are complete after its pass.
struct LoweredReduction {
  std::uint16_t step = 0;
  std::uint16_t pass = 0;
  std::uint16_t first_state = 0;  // kernel value of its first state
  std::vector<StateRule> states;
  Segment combine;       // reads states and their partners, results are the new states
  bool in_runs = false;  // the second state is a run's total
  Segment end_run;       // adds it to the first
};

/// One walk over the points of a row (Row), of a column (Column), or of everything (Pointwise).
struct Pass {
  Segment before;  // once per row or column vector
  Segment points;  // at each point
};

/// Immutable once lowered.
struct LoweredKernel {
  KernelSpec spec;
  Segment uniform;           // once per run
  std::vector<Pass> passes;  // Pointwise and Column: one
  Segment after;             // results of the last pass
  std::vector<LoweredReduction> reductions;
  std::vector<std::uint16_t> saved;  // steps kept in the scratchpad row, by slot
  std::uint16_t hoisted = 0;         // values that were moved out of a loop

  std::uint16_t position_value() const { return static_cast<std::uint16_t>(spec.steps.size()); }
  std::uint16_t state_count() const;
  /// The kernel value that `state` is combined with.
  std::uint16_t partner(std::uint16_t state) const {
    return static_cast<std::uint16_t>(state + state_count());
  }
  std::size_t value_count() const {
    return spec.steps.size() + 1 + 2 * static_cast<std::size_t>(state_count()) + hoisted;
  }
  bool reads_position() const;
  std::string print() const;
};

LoweredKernel lower(const KernelSpec& spec);

}  // namespace spyre::kernels
