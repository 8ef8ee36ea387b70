// spyre/engine/pointwise.h — dispatcher entries for the pointwise ops, derived from the op table.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spyre/engine/call_key.h"
#include "spyre/engine/operand.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/registration.h"
#include "spyre/engine/ruling.h"

namespace spyre::engine {

/// One dispatcher overload and the table rows that implement it. Immutable after construction.
class PointwiseOverload {
 public:
  /// `schema`: of the functional form.
  PointwiseOverload(const c10::FunctionSchema& schema, std::span<const OpId> rows);

  // Each returns false if no row serves these arguments: the caller takes the host path, which
  // raises CPU's error where there is one. What was ruled is remembered under `key`, if it is valid.
  bool functional(Arguments arguments, const CallKey& key, at::Tensor& result) const;
  bool in_place(Arguments arguments, const CallKey& key, const at::Tensor& self) const;
  /// `try_types` raises if CPU stores no results of another type in `out`: operators differ in that.
  bool out(Arguments arguments, const CallKey& key, const at::Tensor& out,
           c10::function_ref<void()> try_types) const;

  /// What the choice of a row looks at in the values of a call's arguments.
  std::uint64_t selection(Arguments arguments) const;

 private:
  /// A condition on one schema argument: it is given, is None, or is a certain string.
  struct Term {
    std::size_t argument = 0;
    bool none = false;
    std::string_view text;         // empty: any value
    std::optional<double> number;  // the text's value, for a numeric argument
    bool holds(const Argument& value) const;
  };
  struct Row {
    OpId id;
    const kernels::OpInfo* info;
    bool divides_integers;  // raises a fault on zero
    std::size_t fixed;      // trailing numbers that the terms fix: not inputs of the body
    std::vector<Term> terms;
  };
  struct ArgumentRole {
    bool nan_if_none = false;  // an optional number that no row selects on
    bool promotes = false;     // takes part in type promotion, if it is a number
  };
  /// The inputs of the body among a call's arguments, in schema order.
  struct Inputs {
    c10::SmallVector<Operand, 4> operands;
    Places places{};  // the arguments that they are
    Operands get() const { return {operands.data(), operands.size()}; }
  };
  struct Choice {
    PointwiseOp op;
    c10::ScalarType returned;
    std::size_t arity;   // the first inputs are the body's
    NumberRules values;  // by input; kept by this call
  };
  /// A row's selection, as far as it speaks of arguments that this overload has.
  std::vector<Term> terms_of(const kernels::OpInfo& info) const;
  Inputs collect(Arguments arguments) const;
  /// The first row whose compute types and selection fit.
  std::optional<Choice> row_for(Operands operands, Arguments given) const;
  static void remember(const CallKey& key, const Choice& choice, const Inputs& inputs,
                       const at::Tensor& out, bool fresh);
  /// CPU's errors for types of numbers.
  void check_number_types(Operands operands, c10::ScalarType common) const;
  /// What CPU asks of the values of the operands that are numbers. `types`: of the row.
  NumberRules number_rules(const Row& row, Operands operands, const Types& types) const;
  static bool converts_scalars(const Row& row);

  const c10::FunctionSchema& schema_;  // lives as long as the dispatcher
  std::vector<Row> rows_;
  std::vector<Term> selectors_;  // of all rows, in order
  std::vector<ArgumentRole> arguments_;
  std::optional<std::size_t> never_negative_;  // a number that CPU refuses below 0, in some calls
  ResultLayout layout_;                        // that CPU's result has
  std::optional<std::size_t> alpha_;  // position of an `alpha` argument: it does not promote
};

/// Registers every overload that the op table names, with its in-place and out forms.
void register_pointwise(Registrations& registrations);

}  // namespace spyre::engine
