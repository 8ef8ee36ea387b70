// spyre/engine/pointwise.h — dispatcher entries for the pointwise ops, derived from the op table.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spyre/engine/operand.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/registration.h"

namespace spyre::engine {

/// One dispatcher overload and the table rows that implement it. Immutable after construction.
class PointwiseOverload {
 public:
  /// `schema`: of the functional form.
  PointwiseOverload(const c10::FunctionSchema& schema, std::span<const OpId> rows);

  // Each returns false if no row serves these operands: the caller takes the host path, which
  // raises CPU's error where there is one. `given`: see row_for.
  bool functional(Operands operands, std::span<const c10::IValue> given, at::Tensor& result) const;
  bool in_place(Operands operands, std::span<const c10::IValue> given,
                const at::Tensor& self) const;
  bool out(Operands operands, std::span<const c10::IValue> given, const at::Tensor& out) const;

  /// True if some row depends on the values of arguments.
  bool selects() const { return selects_; }
  /// The inputs of the body among a call's arguments, in schema order.
  void collect(std::span<const c10::IValue> arguments,
               c10::SmallVectorImpl<Operand>& operands) const;

 private:
  /// A condition on one schema argument: it is given, is None, or is a certain string.
  struct Term {
    std::size_t argument = 0;
    bool none = false;
    std::string_view text;         // empty: any value
    std::optional<double> number;  // the text's value, for a numeric argument
    bool holds(const c10::IValue& value) const;
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
  struct Choice {
    PointwiseOp op;
    c10::ScalarType returned;
    Operands inputs;  // of the body
  };
  /// A row's selection, as far as it speaks of arguments that this overload has.
  std::vector<Term> terms_of(const kernels::OpInfo& info) const;
  /// The first row whose compute types and selection fit. `given`: all arguments, if a row selects
  /// on them.
  std::optional<Choice> row_for(Operands operands, std::span<const c10::IValue> given) const;
  void check_numbers(Operands operands, c10::ScalarType common) const;
  static bool converts_scalars(const Row& row);
  /// True if the row divides by a tensor of integers. Raises CPU's error for a number that is zero.
  static bool may_fault(const Row& row, Operands operands, DType compute);

  const c10::FunctionSchema& schema_;  // lives as long as the dispatcher
  std::vector<Row> rows_;
  std::vector<ArgumentRole> arguments_;
  bool selects_ = false;
  bool contiguous_;                   // CPU's result does not keep the layout of its tensors
  std::optional<std::size_t> alpha_;  // position of an `alpha` argument, which does not promote
};

/// Registers every overload that the op table names, with its in-place and out forms.
void register_pointwise(Registrations& registrations);

}  // namespace spyre::engine
