// spyre/engine/pointwise.cpp — dispatcher entries for the pointwise ops, derived from the op table.
#include "spyre/engine/pointwise.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/BinaryOps.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "spyre/engine/error_boundary.h"
#include "spyre/engine/fallback.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"
#include "spyre/kernels/builder.h"

namespace spyre::engine {
namespace {

using kernels::OpInfo;
using kernels::TypeRule;

/// True if the op divides integers, which raises a fault on zero: seen from its body in an integer
/// lane.
bool divides_integers(const kernels::Op& op) {
  if ((op.info.computes.bits & kIntegers.bits) == 0) return false;
  kernels::MicroProgram program;
  kernels::Builder builder(program);
  builder.set_compute(DType::I32);
  std::vector<kernels::Value> inputs;
  for (std::uint16_t i = 0; i < op.info.arity; ++i)
    inputs.push_back(builder.input(i, kernels::Lane::I32));
  (void)op.body(builder, inputs);
  return std::ranges::any_of(program, [](const kernels::MicroInstruction& i) {
    return i.op == kernels::Micro::IntDivTrunc || i.op == kernels::Micro::IntRem;
  });
}

bool is_optional_number(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->isSubtypeOf(*c10::NumberType::get());
}

/// `Scalar` and `Scalar?`, as against float, int and bool.
bool is_scalar(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return (optional != nullptr ? *optional->getElementType() : type) == *c10::NumberType::get();
}

const at::Tensor* first_tensor(Operands operands) {
  for (const Operand& o : operands)
    if (o.on_device()) return &o.tensor();
  return nullptr;
}

/// Calls that CPU refuses for other reasons than shapes and types; the host path raises its error.
bool refused_by_cpu(const OpInfo& info, Operands operands) {
  const auto is_mask = [&](std::size_t i) {
    return operands[i].promoting() != nullptr &&
           operands[i].promoting()->scalar_type() == c10::kBool;
  };
  if (info.name == "where") return !is_mask(0);
  if (info.name == "masked_fill")
    return !is_mask(1) ||
           (operands[2].promoting() != nullptr && operands[2].promoting()->dim() != 0);
  if (info.name == "hardtanh")
    return operands[0].tensor().scalar_type() == c10::kByte && operands[1].number().toDouble() < 0;
  if (info.name == "int_pow")
    return operands[1].promoting() == nullptr && operands[1].number().toLong() < 0;
  return false;
}

/// True if a 0-dimensional operand is no value of the reduced float `compute`: CPU's kernels that keep scalars wide
/// keep it wide, too.
bool reads_wider_number(Operands operands, DType compute) {
  return is_reduced_float(compute) && std::ranges::any_of(operands, [&](const Operand& o) {
           return o.on_device() && c10::isFloatingType(o.tensor().scalar_type()) &&
                  o.tensor().scalar_type() != scalar_type(compute);
         });
}

bool fit_device(Operands operands) {
  return std::ranges::all_of(operands, [](const Operand& o) {
    return !o.on_device() || static_cast<std::size_t>(o.tensor().dim()) <= kMaxRank;
  });
}

}  // namespace

PointwiseOverload::PointwiseOverload(const c10::FunctionSchema& schema, std::span<const OpId> rows)
    : schema_(schema) {
  std::vector<bool> selects(schema_.arguments().size(), false);
  for (const OpId id : rows) {
    const kernels::Op& op = kernels::op(id);
    std::vector<Term> terms = terms_of(op.info);
    const auto fixed =
        std::ranges::count_if(terms, [](const Term& t) { return t.number.has_value(); });
    rows_.push_back(
        {id, &op.info, divides_integers(op), static_cast<std::size_t>(fixed), std::move(terms)});
    for (const Term& term : rows_.back().terms) selects[term.argument] = true;
  }
  for (std::size_t i = 0; i < schema_.arguments().size(); ++i) {
    const c10::Argument& argument = schema_.arguments()[i];
    if (argument.name() == "alpha") alpha_ = i;
    arguments_.push_back({.nan_if_none = !selects[i] && is_optional_number(*argument.type()),
                          .promotes = is_scalar(*argument.type())});
  }
}

bool PointwiseOverload::Term::holds(const c10::IValue& value) const {
  if (none) return value.isNone();
  if (text.empty()) return !value.isNone();
  if (number)
    return value.isScalar() && !value.toScalar().isComplex() &&
           value.toScalar().toDouble() == *number;
  return value.isString() && value.toStringRef() == text;
}

std::vector<PointwiseOverload::Term> PointwiseOverload::terms_of(const OpInfo& info) const {
  std::vector<Term> terms;
  for (auto part : std::views::split(info.select, ',')) {
    if (part.empty()) continue;
    std::string_view text(part.begin(), part.end());
    Term term;
    term.none = text.starts_with('!');
    if (term.none) text.remove_prefix(1);
    const std::size_t equals = std::min(text.find('='), text.size());
    if (equals != text.size()) term.text = text.substr(equals + 1);
    const std::optional<int> position =
        schema_.argumentIndexWithName(std::string(text.substr(0, equals)));
    if (!position) continue;  // a term on an argument that this overload lacks
    term.argument = static_cast<std::size_t>(*position);
    if (!term.text.empty() &&
        schema_.arguments()[term.argument].type()->isSubtypeOf(*c10::NumberType::get()))
      term.number = std::stod(std::string(term.text));
    terms.push_back(term);
  }
  return terms;
}

void PointwiseOverload::check_numbers(Operands operands, c10::ScalarType common) const {
  if (alpha_) at::native::alpha_check(common, operands[*alpha_].number());
  const std::string_view name = rows_.front().info->name;
  if ((name != "sub" && name != "rsub") || operands[0].promoting() == nullptr) return;
  const at::Tensor& self = *operands[0].promoting();
  if (operands[1].promoting() != nullptr) at::native::sub_check(self, *operands[1].promoting());
  else at::native::sub_check(self, operands[1].number());
}

std::optional<PointwiseOverload::Choice> PointwiseOverload::row_for(
    Operands operands, std::span<const c10::IValue> given) const {
  if (!fit_device(operands)) return std::nullopt;
  for (const Row& row : rows_) {
    const OpInfo& info = *row.info;
    if (info.arity + row.fixed != operands.size()) continue;
    if (!std::ranges::all_of(row.terms, [&](const Term& t) { return t.holds(given[t.argument]); }))
      continue;
    const c10::ScalarType common =
        common_type(info.types, alpha_ ? operands.first(*alpha_) : operands);
    std::optional<Types> types = types_of(info.types, common);
    if (!types || !info.computes.has(types->compute)) continue;
    if (refused_by_cpu(info, operands)) return std::nullopt;
    check_numbers(operands, common);
    if (info.wide_scalars && reads_wider_number(operands, types->compute))
      types->compute = DType::F32;
    const bool can_fault = row.divides_integers && !is_float(types->compute);
    return Choice{{row.id, types->compute, types->result, can_fault ? current_source() : 0},
                  types->returned,
                  operands.first(info.arity)};
  }
  return std::nullopt;
}

bool PointwiseOverload::functional(Operands operands, std::span<const c10::IValue> given,
                                   at::Tensor& result) const {
  if (first_tensor(operands) == nullptr) return false;
  const std::optional<Choice> choice = row_for(operands, given);
  if (!choice) return false;
  result = pointwise(choice->op, choice->inputs);
  return true;
}

bool PointwiseOverload::in_place(Operands operands, std::span<const c10::IValue> given,
                                 const at::Tensor& self) const {
  const std::optional<Choice> choice = row_for(operands, given);
  if (!choice || !native_type(self.scalar_type())) return false;
  check_can_cast(choice->returned, self.scalar_type());
  at::assert_no_internal_overlap(self);
  c10::SmallVector<const at::Tensor*, 8> tensors{&self};
  for (const Operand& o : operands)
    if (o.on_device() && !o.tensor().is_same(self)) tensors.push_back(&o.tensor());
  check_same_device({tensors.data(), tensors.size()}, self.device());
  check_inplace_shape(self, broadcast_sizes({tensors.data(), tensors.size()}));
  record_pointwise(choice->op, choice->inputs, self);
  return true;
}

bool PointwiseOverload::out(Operands operands, std::span<const c10::IValue> given,
                            const at::Tensor& out) const {
  const std::optional<Choice> choice = row_for(operands, given);
  if (!choice || !native_type(out.scalar_type())) return false;
  c10::SmallVector<const at::Tensor*, 8> list;
  for (const Operand& o : operands)
    if (o.on_device()) list.push_back(&o.tensor());
  const TensorRefs tensors(list.data(), list.size());
  check_same_device(tensors, out.device());
  check_can_cast(choice->returned, out.scalar_type());
  const Dims sizes = broadcast_sizes(tensors);
  resize_output(out, sizes, result_strides(sizes, tensors));
  at::assert_no_internal_overlap(out);
  record_pointwise(choice->op, choice->inputs, out);
  return true;
}

void PointwiseOverload::collect(std::span<const c10::IValue> arguments,
                                c10::SmallVectorImpl<Operand>& operands) const {
  const auto number = [&](std::size_t i, const c10::Scalar& value) {
    return arguments_[i].promotes ? Operand(value) : Operand::constant(value);
  };
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const c10::IValue& value = arguments[i];
    if (value.isTensor()) {
      if (value.toTensor().defined()) operands.emplace_back(value.toTensor());
    } else if (value.isScalar()) {
      operands.push_back(number(i, value.toScalar()));
    } else if (value.isNone() && arguments_[i].nan_if_none) {
      operands.push_back(Operand::constant(std::numeric_limits<double>::quiet_NaN()));
    }
  }
}

namespace {

using Overload = std::shared_ptr<const PointwiseOverload>;

/// Runs the operator on the host with these arguments.
template <class... Args> at::Tensor on_host(const c10::OperatorHandle& op, const Args&... args) {
  torch::jit::Stack stack;
  torch::jit::push(stack, args...);
  fall_back(op, &stack);
  return stack.back().toTensor();
}

// Adapters by signature: each form of an overload as the dispatcher calls it. Immutable.

template <class... Args> struct Functional final : c10::OperatorKernel {
  Functional(Overload o, c10::OperatorHandle h) : overload(std::move(o)), handle(h) {}
  at::Tensor operator()(Args... args) {
    return bounded([&]() -> at::Tensor {
      const std::array<Operand, sizeof...(Args)> operands{Operand(args)...};
      at::Tensor result;
      return overload->functional(operands, {}, result) ? result : on_host(handle, args...);
    });
  }
  Overload overload;
  c10::OperatorHandle handle;
};

template <class... Args> struct InPlace final : c10::OperatorKernel {
  InPlace(Overload o, c10::OperatorHandle h) : overload(std::move(o)), handle(h) {}
  at::Tensor& operator()(at::Tensor& self, Args... args) {
    return bounded([&]() -> at::Tensor& {
      const std::array<Operand, sizeof...(Args) + 1> operands{Operand(self), Operand(args)...};
      if (!overload->in_place(operands, {}, self)) on_host(handle, self, args...);
      return self;
    });
  }
  Overload overload;
  c10::OperatorHandle handle;
};

template <class... Args> struct Out final : c10::OperatorKernel {
  Out(Overload o, c10::OperatorHandle h) : overload(std::move(o)), handle(h) {}
  at::Tensor& operator()(Args... args, at::Tensor& out) {
    return bounded([&]() -> at::Tensor& {
      const std::array<Operand, sizeof...(Args)> operands{Operand(args)...};
      if (!overload->out(operands, {}, out)) on_host(handle, args..., out);
      return out;
    });
  }
  Overload overload;
  c10::OperatorHandle handle;
};

enum class Form : std::uint8_t { Functional, InPlace, Out };

/// Every other signature: walks the schema.
struct Boxed final : c10::OperatorKernel {
  Boxed(Overload o, Form f) : overload(std::move(o)), form(f) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    bounded([&] {
      const std::size_t count = op.schema().arguments().size();
      const std::span<const c10::IValue> arguments =
          std::span<const c10::IValue>(*stack).last(count);
      c10::SmallVector<Operand, 8> operands;
      overload->collect(arguments, operands);
      at::Tensor result;
      if (!run({operands.data(), operands.size()}, arguments, result)) return fall_back(op, stack);
      torch::jit::drop(*stack, count);
      torch::jit::push(*stack, std::move(result));
    });
  }

  bool run(Operands operands, std::span<const c10::IValue> arguments, at::Tensor& result) const {
    if (form == Form::Functional) return overload->functional(operands, arguments, result);
    result = (form == Form::InPlace ? arguments.front() : arguments.back()).toTensor();
    return form == Form::InPlace ? overload->in_place(operands, arguments, result)
                                 : overload->out(operands, arguments, result);
  }

  Overload overload;
  Form form;
};

/// True if PyTorch makes the functional form itself, from a copy and the in-place form.
bool functional_is_derived(const Forms& forms) {
  const auto composite = [](const c10::OperatorHandle& op) {
    return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
  };
  return forms.in_place && composite(*forms.functional) && !composite(*forms.in_place);
}

template <class First, class... Rest>
void register_unboxed(Registrations& registrations, const Forms& forms, const Overload& overload) {
  if (!functional_is_derived(forms))
    registrations.add<Functional<First, Rest...>>(*forms.functional, overload, *forms.functional);
  if (forms.in_place)
    registrations.add<InPlace<Rest...>>(*forms.in_place, overload, *forms.in_place);
  if (forms.out) registrations.add<Out<First, Rest...>>(*forms.out, overload, *forms.out);
}

void register_boxed(Registrations& registrations, const Forms& forms, const Overload& overload) {
  if (!functional_is_derived(forms))
    registrations.add_boxed<Boxed>(*forms.functional, overload, Form::Functional);
  if (forms.in_place) registrations.add_boxed<Boxed>(*forms.in_place, overload, Form::InPlace);
  if (forms.out) registrations.add_boxed<Boxed>(*forms.out, overload, Form::Out);
}

/// The argument kinds of a schema, one letter each: T tensor, S Scalar, ? anything else.
std::string signature_of(const c10::FunctionSchema& schema) {
  std::string letters;
  for (const c10::Argument& a : schema.arguments())
    letters += *a.type() == *c10::TensorType::get()   ? 'T'
               : *a.type() == *c10::NumberType::get() ? 'S'
                                                      : '?';
  return letters;
}

void register_overload(Registrations& registrations, std::string_view name,
                       std::span<const OpId> rows) {
  using Tensor = const at::Tensor&;
  using Scalar = const c10::Scalar&;
  const Forms forms = forms_of(name);
  const auto overload = std::make_shared<const PointwiseOverload>(forms.functional->schema(), rows);
  const std::string signature =
      overload->selects() ? "by arguments" : signature_of(forms.functional->schema());
  if (signature == "T") return register_unboxed<Tensor>(registrations, forms, overload);
  if (signature == "TT") return register_unboxed<Tensor, Tensor>(registrations, forms, overload);
  if (signature == "TS") return register_unboxed<Tensor, Scalar>(registrations, forms, overload);
  if (signature == "TTS")
    return register_unboxed<Tensor, Tensor, Scalar>(registrations, forms, overload);
  register_boxed(registrations, forms, overload);
}

}  // namespace

void register_pointwise(Registrations& registrations) {
  std::vector<std::pair<std::string_view, std::vector<OpId>>> overloads;  // in table order
  const std::span<const kernels::Op> table = kernels::op_table();
  for (std::uint16_t id = 0; id < table.size(); ++id) {
    for (auto part : std::views::split(table[id].info.aten, ';')) {
      if (part.empty()) continue;
      const std::string_view name(part.begin(), part.end());
      auto known = std::ranges::find(overloads, name, &decltype(overloads)::value_type::first);
      if (known == overloads.end()) known = overloads.insert(overloads.end(), {name, {}});
      known->second.push_back(OpId{id});
    }
  }
  for (const auto& [name, rows] : overloads) register_overload(registrations, name, rows);
}

}  // namespace spyre::engine
