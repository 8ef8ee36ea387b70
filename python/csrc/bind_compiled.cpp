// python/csrc/bind_compiled.cpp — compiled kernels, prepared from Inductor's programs.
//
// A program arrives as nested tuples, whose fields torch_spyre/inductor/kernel_spec.py names.
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <memory>
#include <string>

#include "bindings.h"
#include "compiled_calls.h"
#include "spyre/base/text.h"

namespace spyre::python {
namespace {

namespace py = pybind11;
using engine::KernelProgram;
using engine::NumberFormula;
using engine::ProgramInput;
using engine::ProgramStep;
using engine::ProgramText;
using engine::ProgramView;

DType type_named(const py::handle& name) {
  const auto wanted = py::cast<std::string>(name);
  for (std::size_t i = 0; i < kDTypeCount; ++i)
    if (name_of(static_cast<DType>(i)) == wanted) return static_cast<DType>(i);
  throw InvalidArgument(str("no element type is called ", wanted));
}

kernels::Reduction reduction_named(const std::string& wanted) {
  using kernels::Reduction;
  for (const Reduction r : {Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min,
                            Reduction::ArgMax, Reduction::ArgMin, Reduction::Any, Reduction::All})
    if (kernels::name_of(r) == wanted) return r;
  throw InvalidArgument(str("no reduction is called ", wanted));
}

/// (buffer, type, offset, strides)
ProgramView view_from(const py::tuple& fields) {
  return {.buffer = py::cast<std::uint32_t>(fields[0]),
          .dtype = type_named(fields[1]),
          .offset = py::cast<engine::TableIndex>(fields[2]),
          .strides = py::cast<engine::TableIndices>(fields[3])};
}

/// ("view", buffer, type, offset, strides), ("iota", offset, strides), ("number", value), ("host", argument),
/// ("call", number) or ("formula", number)
ProgramInput input_from(const py::tuple& fields) {
  const auto kind = py::cast<std::string>(fields[0]);
  using Kind = ProgramInput::Kind;
  ProgramInput input;
  if (kind == "view") {
    input.kind = Kind::View;
    input.view = view_from(py::make_tuple(fields[1], fields[2], fields[3], fields[4]));
  } else if (kind == "iota") {
    input.kind = Kind::Iota;
    input.view.dtype = DType::I64;
    input.view.offset = py::cast<engine::TableIndex>(fields[1]);
    input.view.strides = py::cast<engine::TableIndices>(fields[2]);
  } else if (kind == "number") {
    input.kind = Kind::Number;
    input.number = number_from(py::object(fields[1]).ptr());
  } else if (kind == "host" || kind == "call" || kind == "formula") {
    input.kind = kind == "host"   ? Kind::HostArgument
                 : kind == "call" ? Kind::CallNumber
                                  : Kind::Formula;
    input.view.buffer = py::cast<std::uint32_t>(fields[1]);
  } else {
    throw InvalidArgument(str("no kind of input is called ", kind));
  }
  return input;
}

/// (op, compute, result, may_fault, sizes, reduced, inputs, output); an op that reduces is called "reduce.sum", ….
ProgramStep step_from(const py::tuple& fields) {
  static constexpr std::string_view kReduce = "reduce.";
  const auto name = py::cast<std::string>(fields[0]);
  ProgramStep step;
  if (name.starts_with(kReduce)) step.reduction = reduction_named(name.substr(kReduce.size()));
  else step.op = kernels::op_named(name);
  step.compute = type_named(fields[1]);
  step.result = type_named(fields[2]);
  step.may_fault = py::cast<bool>(fields[3]);
  step.sizes = py::cast<engine::TableIndices>(fields[4]);
  step.reduced = py::cast<std::uint32_t>(fields[5]);
  for (const py::handle& input : fields[6])
    step.inputs.push_back(input_from(py::reinterpret_borrow<py::tuple>(input)));
  step.output = view_from(fields[7]);
  return step;
}

/// ("number", value, type), ("host", argument, type) or ("call", number, type)
NumberFormula::Leaf leaf_from(const py::tuple& fields) {
  const auto kind = py::cast<std::string>(fields[0]);
  using Kind = NumberFormula::Leaf::Kind;
  NumberFormula::Leaf leaf;
  leaf.type = type_named(fields[2]);
  if (kind == "number") {
    leaf.number = number_from(py::object(fields[1]).ptr());
    return leaf;
  }
  leaf.kind = kind == "host" ? Kind::Host : Kind::Call;
  leaf.place = py::cast<std::uint32_t>(fields[1]);
  return leaf;
}

/// (leaves, steps), a step being (op, compute, result, inputs)
NumberFormula formula_from(const py::tuple& fields) {
  NumberFormula formula;
  for (const py::handle& leaf : fields[0])
    formula.leaves.push_back(leaf_from(py::reinterpret_borrow<py::tuple>(leaf)));
  for (const py::handle& entry : fields[1]) {
    const auto step = py::reinterpret_borrow<py::tuple>(entry);
    formula.steps.push_back({.op = kernels::op_named(py::cast<std::string>(step[0])),
                             .compute = type_named(step[1]),
                             .result = type_named(step[2]),
                             .inputs = py::cast<std::vector<std::uint32_t>>(step[3])});
  }
  return formula;
}

/// (name, arguments, table, given, numbers, formulas, temporaries, steps)
py::object prepare_kernel(const py::tuple& fields) {
  ProgramText text;
  text.name = py::cast<std::string>(fields[0]);
  text.arguments = py::cast<std::vector<bool>>(fields[1]);
  text.table = py::cast<std::vector<std::int64_t>>(fields[2]);
  text.given = py::cast<std::size_t>(fields[3]);
  text.numbers = py::cast<std::size_t>(fields[4]);
  for (const py::handle& formula : fields[5])
    text.formulas.push_back(formula_from(py::reinterpret_borrow<py::tuple>(formula)));
  for (const py::handle& entry : fields[6]) {
    const auto temporary = py::reinterpret_borrow<py::tuple>(entry);
    text.temporaries.push_back(
        {type_named(temporary[0]), py::cast<engine::TableIndices>(temporary[1])});
  }
  for (const py::handle& step : fields[7])
    text.steps.push_back(step_from(py::reinterpret_borrow<py::tuple>(step)));
  return prepared(std::make_shared<KernelProgram>(std::move(text)));
}

}  // namespace

void bind_compiled(py::module_& module) {
  module.def("prepare_kernel", &prepare_kernel, "A kernel from its program, once per artifact.");
  bind_compiled_calls(module);
  bind_layout_guards(module);
}

}  // namespace spyre::python
