// spyre/engine/pointwise.cpp — dispatcher entries for the pointwise ops, derived from the op table.
#include "spyre/engine/pointwise.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/BinaryOps.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "spyre/engine/ruling.h"
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

constexpr std::size_t kDivisor = 1;  // of ops that divide

const at::Tensor* first_tensor(Operands operands) {
  for (const Operand& o : operands)
    if (o.on_device()) return &o.tensor();
  return nullptr;
}

bool alike(Operands operands) {
  const at::Tensor* first = nullptr;
  for (const Operand& o : operands) {
    if (o.promoting() == nullptr) continue;
    if (first != nullptr && o.promoting()->scalar_type() != first->scalar_type()) return false;
    first = o.promoting();
  }
  return true;
}

/// What CPU refuses of an op: this input below 0, of some only if that flag among the inputs is set.
struct NegativeRule {
  std::size_t input = 1;
  std::optional<std::size_t> flag = {};
};

std::optional<NegativeRule> negative_rule(const OpInfo& info) {
  if (info.name == "hardtanh" || info.name == "int_pow" || info.name == "softshrink")
    return NegativeRule{};
  // From the result of an activation in place nobody can tell where its input was negative.
  if (info.name == "elu_backward") return NegativeRule{.input = 1, .flag = 4};
  if (info.name == "leaky_relu_backward") return NegativeRule{.input = 2, .flag = 3};
  return std::nullopt;
}

bool is_negative(const c10::Scalar& number) { return !number.isComplex() && number.toDouble() < 0; }

/// Types that CPU's kernels do not take together.
bool refuses_types(const OpInfo& info, Operands operands) {
  const auto type_of = [&](std::size_t i) {
    const at::Tensor* const tensor = operands[i].promoting();
    return tensor == nullptr ? std::nullopt : std::optional(tensor->scalar_type());
  };
  const auto is_integral = [&](std::size_t i) {
    return type_of(i) && c10::isIntegralType(*type_of(i), /*includeBool=*/true);
  };
  if (info.name == "addcdiv") return is_integral(1) && is_integral(2);
  // Ops that CPU writes without promotion.
  if (info.name == "lerp" || info.name == "heaviside") return !alike(operands);
  if (info.name == "where") return type_of(0) != c10::kBool;
  return info.name == "masked_fill" && type_of(1) != c10::kBool;
}

/// Calls that CPU refuses for other reasons than shapes; the host path raises its error.
bool refused_by_cpu(const OpInfo& info, Operands operands) {
  if (refuses_types(info, operands)) return true;
  if (info.name == "masked_fill")
    return operands[2].promoting() != nullptr && operands[2].promoting()->dim() != 0;
  const std::optional<NegativeRule> rule = negative_rule(info);
  if (!rule || operands[rule->input].promoting() != nullptr) return false;
  return is_negative(operands[rule->input].number()) &&
         (!rule->flag || operands[*rule->flag].number().toBool()) &&
         (info.name != "hardtanh" || operands[0].tensor().scalar_type() == c10::kByte);
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
    if (!o.on_device()) return true;
    return static_cast<std::size_t>(o.tensor().dim()) <= kMaxRank &&
           native_type(o.tensor().scalar_type()).has_value();
  });
}

}  // namespace

PointwiseOverload::PointwiseOverload(const c10::FunctionSchema& schema, std::span<const OpId> rows)
    : schema_(schema),
      layout_(c10::toString(schema.operator_name()) == "aten::pow.Scalar"
                  ? ResultLayout::Contiguous
                  : ResultLayout::OfOperands) {
  std::vector<bool> selects(schema_.arguments().size(), false);
  for (const OpId id : rows) {
    const kernels::Op& op = kernels::op(id);
    std::vector<Term> terms = terms_of(op.info);
    const auto fixed =
        std::ranges::count_if(terms, [](const Term& t) { return t.number.has_value(); });
    rows_.push_back(
        {id, &op.info, divides_integers(op), static_cast<std::size_t>(fixed), std::move(terms)});
    for (const Term& term : rows_.back().terms) {
      selectors_.push_back(term);
      selects[term.argument] = true;
    }
    if (const auto rule = negative_rule(op.info)) {
      never_negative_ = rule->input;
      if (rule->flag) selectors_.push_back({.argument = *rule->flag, .text = "1", .number = 1});
    }
  }
  for (std::size_t i = 0; i < schema_.arguments().size(); ++i) {
    const c10::Argument& argument = schema_.arguments()[i];
    if (argument.name() == "alpha") alpha_ = i;
    arguments_.push_back({.nan_if_none = !selects[i] && is_optional_number(*argument.type()),
                          .promotes = is_scalar(*argument.type())});
  }
}

bool PointwiseOverload::Term::holds(const Argument& value) const {
  if (none) return value.kind == Argument::Kind::None;
  if (text.empty()) return value.kind != Argument::Kind::None;
  if (number)
    return value.kind == Argument::Kind::Number && !value.number->isComplex() &&
           value.number->toDouble() == *number;
  return value.kind == Argument::Kind::Text && value.text == text;
}

std::uint64_t PointwiseOverload::selection(Arguments arguments) const {
  std::uint64_t bits = 0;
  for (const Term& term : selectors_)
    bits = bits << 1 | std::uint64_t{term.holds(arguments[term.argument])};
  if (!never_negative_) return bits;
  const Argument& checked = arguments[*never_negative_];
  return bits << 1 |
         std::uint64_t{checked.kind == Argument::Kind::Number && is_negative(*checked.number)};
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

void PointwiseOverload::check_number_types(Operands operands, c10::ScalarType common) const {
  if (alpha_) at::native::alpha_check(common, operands[*alpha_].number());
  const std::string_view name = rows_.front().info->name;
  if ((name != "sub" && name != "rsub") || operands[0].promoting() == nullptr) return;
  const at::Tensor& self = *operands[0].promoting();
  if (operands[1].promoting() != nullptr) at::native::sub_check(self, *operands[1].promoting());
  else at::native::sub_check(self, operands[1].number());
}

/// CPU's kernels convert the schema's Scalars to the type that they compute in, and refuse values
/// that do not fit; but comparisons and divisions of integers make tensors of them, which wrap.
bool PointwiseOverload::converts_scalars(const Row& row) {
  return row.info->signature == kernels::Signature::FromSchema &&
         row.info->types != TypeRule::Compare && !row.divides_integers;
}

NumberRules PointwiseOverload::number_rules(const Row& row, Operands operands,
                                            const Types& types) const {
  using Condition = NumberRule::Condition;
  NumberRules rules;
  const auto is_fixed = [&](const Term& t) { return t.argument == *alpha_ && t.number; };
  if (alpha_ && std::ranges::none_of(row.terms, is_fixed))  // 1 is a number of every type
    rules.push_back({*alpha_, Condition::Representable, *native_type(types.common)});
  if (converts_scalars(row)) {
    const bool wide = row.info->wide_scalars && is_reduced_float(types.compute);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].promoting() == nullptr && operands[i].promotes())
        rules.push_back({i, Condition::Representable, wide ? DType::F32 : types.compute});
  }
  const bool divides = !operands[0].on_device() || operands[0].tensor().numel() != 0;
  if (row.divides_integers && !is_float(types.compute) && !operands[kDivisor].on_device() &&
      divides)
    rules.push_back({kDivisor, Condition::NotZero, types.compute});
  return rules;
}

std::optional<PointwiseOverload::Choice> PointwiseOverload::row_for(Operands operands,
                                                                    Arguments given) const {
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
    check_number_types(operands, common);
    NumberRules values = number_rules(row, operands, *types);
    for (const NumberRule& rule : values) rule.check(operands[rule.argument].number());
    if (info.wide_scalars && reads_wider_number(operands, types->compute))
      types->compute = DType::F32;
    const bool may_fault =
        row.divides_integers && !is_float(types->compute) && operands[kDivisor].on_device();
    return Choice{{row.id, types->compute, types->result, may_fault},
                  types->returned,
                  info.arity,
                  std::move(values)};
  }
  return std::nullopt;
}

void PointwiseOverload::remember(const CallKey& key, const Choice& choice, const Inputs& inputs,
                                 const at::Tensor& out, bool fresh) {
  Judged call{choice.op, inputs.get().first(choice.arity), inputs.places, choice.values};
  for (NumberRule& rule : call.values) rule.argument = inputs.places[rule.argument];
  RulingMemo::of_thread().remember(key, std::move(call), out, fresh);
}

bool PointwiseOverload::functional(Arguments arguments, const CallKey& key,
                                   at::Tensor& result) const {
  const Inputs inputs = collect(arguments);
  if (first_tensor(inputs.get()) == nullptr) return false;
  const std::optional<Choice> choice = row_for(inputs.get(), arguments);
  if (!choice) return false;
  const Operands operands = inputs.get().first(choice->arity);
  result = pointwise_by_rules(choice->op, operands, layout_);
  remember(key, *choice, inputs, result, true);
  return true;
}

bool PointwiseOverload::in_place(Arguments arguments, const CallKey& key,
                                 const at::Tensor& self) const {
  // Some operators only warn: CPU has the say.
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) return false;
  const Inputs inputs = collect(arguments);
  const std::optional<Choice> choice = row_for(inputs.get(), arguments);
  if (!choice || !native_type(self.scalar_type())) return false;
  check_can_cast(choice->returned, self.scalar_type());
  c10::SmallVector<const at::Tensor*, 8> tensors{&self};
  for (const Operand& o : inputs.operands)
    if (o.on_device() && !o.tensor().is_same(self)) tensors.push_back(&o.tensor());
  check_same_device({tensors.data(), tensors.size()}, self.device());
  check_inplace_shape(self, broadcast_sizes({tensors.data(), tensors.size()}));
  record_pointwise(choice->op, inputs.get().first(choice->arity), self);
  remember(key, *choice, inputs, self, false);
  return true;
}

bool PointwiseOverload::out(Arguments arguments, const CallKey& key, const at::Tensor& out,
                            c10::function_ref<void()> try_types) const {
  const Inputs inputs = collect(arguments);
  const std::optional<Choice> choice = row_for(inputs.get(), arguments);
  if (!choice || !native_type(out.scalar_type())) return false;
  c10::SmallVector<const at::Tensor*, 8> list;
  for (const Operand& o : inputs.operands)
    if (o.on_device()) list.push_back(&o.tensor());
  const TensorRefs tensors(list.data(), list.size());
  check_same_device(tensors, out.device());
  if (choice->returned != out.scalar_type()) try_types();
  const Dims sizes = broadcast_sizes(tensors);
  const bool fits = out.sizes() == as_array(sizes);
  const auto is_read = [&](const at::Tensor* t) { return t->is_same(out); };
  if (std::ranges::any_of(tensors, is_read)) check_inplace_shape(out, sizes);
  else resize_output(out, sizes, result_strides(sizes, tensors));
  at::assert_no_internal_overlap(out);
  record_pointwise(choice->op, inputs.get().first(choice->arity), out);
  if (fits) remember(key, *choice, inputs, out, false);
  return true;
}

PointwiseOverload::Inputs PointwiseOverload::collect(Arguments arguments) const {
  const auto number = [&](std::size_t i, const c10::Scalar& value) {
    return arguments_[i].promotes ? Operand(value) : Operand::constant(value);
  };
  Inputs inputs;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& value = arguments[i];
    const std::size_t count = inputs.operands.size();
    if (value.kind == Argument::Kind::Tensor) {
      inputs.operands.emplace_back(*value.tensor);
    } else if (value.kind == Argument::Kind::Number) {
      inputs.operands.push_back(number(i, *value.number));
    } else if (value.kind == Argument::Kind::None && arguments_[i].nan_if_none) {
      inputs.operands.push_back(Operand::constant(value.value()));
    } else {
      continue;
    }
    inputs.places.at(count) = static_cast<std::uint8_t>(i);
  }
  return inputs;
}

}  // namespace spyre::engine
