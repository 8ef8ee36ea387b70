// spyre/kernels/kernel_spec.cpp — a spec's key, its printed form, its rules, and the meaning of an Apply step.
#include "spyre/kernels/kernel_spec.h"

#include <algorithm>
#include <array>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

constexpr std::array<std::string_view, 3> kFormNames{"pointwise", "row", "column"};
constexpr std::array<std::string_view, 3> kInnerNames{"zero", "unit", "any"};
constexpr std::array<std::string_view, 3> kArgumentNames{"load", "store", "iota"};
constexpr std::array<std::string_view, 3> kLevelNames{"uniform", "result", "element"};

template <std::size_t N, class E>
std::string_view name_in(const std::array<std::string_view, N>& names, E e) {
  return names[static_cast<std::size_t>(e)];
}

template <class... Numbers> void put(std::string& key, Numbers... numbers) {
  const std::array words{static_cast<std::uint16_t>(numbers)...};
  key.append(reinterpret_cast<const char*>(words.data()), sizeof words);
}

void print_step(std::ostream& out, const KernelSpec& spec, std::size_t i) {
  const Step& s = spec.steps[i];
  out << "  %" << i << " = ";
  switch (s.kind) {
    case Step::Kind::Load: out << "load a" << s.argument; break;
    case Step::Kind::Param: out << "param p" << s.argument; break;
    case Step::Kind::Apply:
      out << (s.op.value < op_table().size() ? op(s.op).info.name : "unknown");
      break;
    case Step::Kind::Reduce: out << "reduce " << name_of(s.reduction); break;
    case Step::Kind::Store: out << "store a" << s.argument; break;
  }
  for (std::size_t k = 0; k < s.inputs.size(); ++k) out << (k ? ", %" : " %") << s.inputs[k];
  if (s.kind == Step::Kind::Apply || s.kind == Step::Kind::Reduce)
    out << " in " << name_of(s.compute);
  if (s.kind != Step::Kind::Store) out << " -> " << name_of(s.result);
  out << ' ' << name_in(kLevelNames, s.level) << '\n';
}

/// Which steps need the outcome of a reduction.
std::vector<bool> follows_reduction(const KernelSpec& spec) {
  std::vector<bool> follows(spec.steps.size());
  for (std::size_t i = 0; i < follows.size(); ++i) {
    const Step& s = spec.steps[i];
    follows[i] = s.kind == Step::Kind::Reduce ||
                 std::ranges::any_of(s.inputs, [&](std::size_t k) { return k < i && follows[k]; });
  }
  return follows;
}

/// Checks one step against the steps before it. Confined to one call of verify().
class StepVerifier {
 public:
  StepVerifier(const KernelSpec& spec, std::size_t index, bool follows_reduction)
      : spec_(spec),
        index_(index),
        step_(spec.steps[index]),
        follows_reduction_(follows_reduction) {}

  void verify() const {
    for (const std::uint16_t input : step_.inputs) {
      require(input < index_, "reads a later step");
      require(spec_.steps[input].kind != Step::Kind::Store, "reads a store");
    }
    require(spec_.form != Form::Pointwise || step_.level != Level::Result,
            "has level result in a pointwise kernel");
    switch (step_.kind) {
      case Step::Kind::Load: return verify_load();
      case Step::Kind::Param: return verify_param();
      case Step::Kind::Apply: return verify_apply();
      case Step::Kind::Reduce: return verify_reduce();
      case Step::Kind::Store: return verify_store();
    }
  }

 private:
  void require(bool holds, std::string_view what) const {
    if (!holds)
      throw InternalError(str("kernel spec: step %", index_, " ", what, "\n", spec_.print()));
  }

  const ArgumentSpec& argument() const {
    require(step_.argument < spec_.arguments.size(), "names an argument that does not exist");
    return spec_.arguments[step_.argument];
  }

  void verify_load() const {
    require(step_.inputs.empty(), "is a load with inputs");
    require(argument().kind != ArgumentSpec::Kind::Store, "loads a store argument");
    require(argument().kind != ArgumentSpec::Kind::Iota || argument().dtype == DType::I64,
            "loads an iota that is not int64");
    require(argument().dtype == step_.result, "loads another type than its argument's");
    require(step_.level != Level::Uniform, "is a uniform load");
  }

  void verify_param() const {
    require(step_.inputs.empty(), "is a parameter with inputs");
    require(step_.argument < spec_.params, "names a parameter that does not exist");
    require(step_.level == Level::Uniform, "is a parameter that is not uniform");
  }

  void verify_apply() const {
    require(step_.op.value < op_table().size(), "applies an unknown op");
    const OpInfo& info = op(step_.op).info;
    require(step_.inputs.size() == info.arity, "has the wrong number of inputs");
    require(info.computes.has(step_.compute), "computes in a type its op has no body for");
    Level level = Level::Uniform;
    for (const std::uint16_t input : step_.inputs)
      level = std::max(level, spec_.steps[input].level);
    require(step_.level == level, "has another level than its inputs give");
    require_no_element_after_column();
  }

  void require_no_element_after_column() const {
    require(spec_.form != Form::Column || step_.level != Level::Element || !follows_reduction_,
            "works on elements after a column reduction");
  }

  void verify_reduce() const {
    require(spec_.form != Form::Pointwise, "reduces in a pointwise kernel");
    require(step_.inputs.size() == 1, "reduces other than one value");
    require(spec_.steps[step_.inputs[0]].level == Level::Element,
            "reduces a value that is not per element");
    require(step_.level == Level::Result, "is a reduction whose level is not result");
    const bool arg = step_.reduction == Reduction::ArgMax || step_.reduction == Reduction::ArgMin;
    require(!arg || step_.result == DType::I64, "is an arg-reduction whose result is not int64");
  }

  void verify_store() const {
    require(step_.inputs.size() == 1, "stores other than one value");
    require(argument().kind == ArgumentSpec::Kind::Store,
            "stores to an argument that is not a store");
    const Level from = spec_.steps[step_.inputs[0]].level;
    require(step_.level >= from && step_.level != Level::Uniform,
            "stores at a lower level than its value's");
    require_no_element_after_column();
  }

  const KernelSpec& spec_;
  std::size_t index_;
  const Step& step_;
  bool follows_reduction_;
};

}  // namespace

std::string KernelSpec::key() const {
  constexpr std::size_t kHeader = 12, kArgument = 6, kStep = 16 + 3 * 2;  // bytes, of three inputs
  std::string key;
  key.reserve(kHeader + arguments.size() * kArgument + steps.size() * kStep);
  put(key, form, rank, params, numerics, arguments.size(), steps.size());
  for (const ArgumentSpec& a : arguments) put(key, a.kind, a.dtype, a.inner);
  for (const Step& s : steps) {
    put(key, s.kind, s.op.value, s.reduction, s.compute, s.result, s.level, s.argument,
        s.inputs.size());
    for (const std::uint16_t input : s.inputs) put(key, input);
  }
  return key;
}

std::string KernelSpec::print() const {
  std::ostringstream out;
  out << name_in(kFormNames, form) << " rank " << +rank << " params " << params
      << std::array{"", " on the card's numbers", " on the card's numbers, with its quirks"}.at(
             static_cast<std::size_t>(numerics))
      << '\n';
  for (std::size_t i = 0; i < arguments.size(); ++i)
    out << "  a" << i << ": " << name_in(kArgumentNames, arguments[i].kind) << ' '
        << name_of(arguments[i].dtype) << " inner " << name_in(kInnerNames, arguments[i].inner)
        << '\n';
  for (std::size_t i = 0; i < steps.size(); ++i) print_step(out, *this, i);
  return std::move(out).str();
}

void KernelSpec::verify() const {
  const std::size_t least = form == Form::Column ? 2 : 1;
  if (rank < least)
    throw InternalError(str("kernel spec: rank ", +rank, " is too low for its form\n", print()));
  const std::vector<bool> follows = follows_reduction(*this);
  for (std::size_t i = 0; i < steps.size(); ++i) StepVerifier(*this, i, follows[i]).verify();
}

namespace {

/// A number that keeps the precision of float32 among values of type `compute`. Of NaN, bfloat16 is given the plain one,
/// which is rounded like any number (Micro::RoundBF16ShortNan).
Value wide_scalar(Builder& b, Value number, DType compute) {
  constexpr std::uint32_t kNan = 0x7fc00000;
  if (compute != DType::BF16) return number;
  return b.select(b.is_nan(number), b.bits(Lane::F32, kNan), number);
}

}  // namespace

Value apply(Builder& b, const KernelSpec& spec, std::size_t step, std::span<const Value> values) {
  const Step& s = spec.steps[step];
  std::vector<Value> inputs;
  inputs.reserve(s.inputs.size());
  for (const std::uint16_t i : s.inputs) {
    const Step& from = spec.steps[i];
    const bool is_wide_scalar =
        from.kind == Step::Kind::Param && from.result == DType::F32 && is_reduced_float(s.compute);
    b.assume_stored(values[i], from.result);
    inputs.push_back(is_wide_scalar             ? wide_scalar(b, values[i], s.compute)
                     : from.result == s.compute ? values[i]
                                                : b.convert_to(values[i], s.compute));
  }
  b.set_compute(s.compute);
  return b.convert_to(op(s.op).body(b, inputs), s.result);
}

}  // namespace spyre::kernels
