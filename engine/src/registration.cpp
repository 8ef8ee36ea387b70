// spyre/engine/registration.cpp — an operator's dispatcher entries, from PyTorch's schemas.
#include "spyre/engine/registration.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "fallback_arguments.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/fallback.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/shape_rules.h"

namespace spyre::engine {
namespace {

using OverloadsByName = std::unordered_map<std::string, std::vector<std::string>>;

const OverloadsByName& overloads() {
  static const OverloadsByName all = [] {
    OverloadsByName map;
    for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames())
      map[op.name].push_back(op.overload_name);
    return map;
  }();
  return all;
}

bool same_argument(const c10::Argument& a, const c10::Argument& b) {
  return a.name() == b.name() && *a.type() == *b.type();
}

/// True if `out` takes the arguments of `functional`, by name and type, and outputs after them.
bool is_out_form(const c10::FunctionSchema& functional, const c10::FunctionSchema& out) {
  const auto& wanted = functional.arguments();
  const auto& found = out.arguments();
  if (found.size() != wanted.size() + functional.returns().size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!same_argument(wanted[i], found[i])) return false;
  for (std::size_t i = wanted.size(); i < found.size(); ++i) {
    const c10::AliasInfo* alias = found[i].alias_info();
    if (!found[i].is_out() || alias == nullptr || !alias->isWrite()) return false;
  }
  return true;
}

std::optional<c10::OperatorHandle> find_out_form(const c10::OperatorHandle& functional) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const std::string& name = functional.operator_name().name;
  for (const std::string& overload : overloads().at(name)) {
    if (overload == functional.operator_name().overload_name) continue;
    auto candidate = dispatcher.findSchema({name, overload});
    if (candidate && is_out_form(functional.schema(), candidate->schema())) return candidate;
  }
  return std::nullopt;
}

/// "__lshift__" becomes "__ilshift__", other names get an underscore.
std::string in_place_name(std::string name) {
  constexpr std::string_view kDunder = "aten::__";
  return name.starts_with(kDunder) ? name.insert(kDunder.size(), 1, 'i') : name + "_";
}

/// The overload that takes the same arguments; not always one of the same overload name (pow.Tensor_Scalar).
std::optional<c10::OperatorHandle> find_in_place_form(const c10::OperatorHandle& functional) {
  const std::string name = in_place_name(functional.operator_name().name);
  const auto found = overloads().find(name);
  if (found == overloads().end()) return std::nullopt;
  const auto& wanted = functional.schema().arguments();
  for (const std::string& overload : found->second) {
    auto candidate = c10::Dispatcher::singleton().findSchema({name, overload});
    if (candidate && std::ranges::equal(candidate->schema().arguments(), wanted, same_argument))
      return candidate;
  }
  return std::nullopt;
}

/// An out form: the functional form, then a copy. Where CPU would not just copy, it has the say.
struct OutByCopy final : c10::OperatorKernel {
  explicit OutByCopy(c10::OperatorHandle f)
      : functional(f),
        dtype(has_its_own_type(f) ? std::nullopt : f.schema().argumentIndexWithName("dtype")) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const auto call = torch::jit::last(*stack, op.schema().arguments().size());
    torch::jit::Stack given(call.begin(), call.end());
    const std::size_t count = functional.schema().returns().size();
    device_of_call(op, *stack);  // refuses results on other devices, whatever else is wrong
    const std::vector<c10::IValue> outs = torch::jit::pop(*stack, count);
    choose_type(*stack, outs.front().toTensor());
    try {
      functional.callBoxed(stack);
    } catch (const c10::OutOfMemoryError&) { throw; } catch (const c10::Error&) {
      // Of two things that are wrong, CPU may see the one first that is wrong with `out`.
      if (Runtime::get().fallback_policy() != FallbackPolicy::Allow) throw;
      bounded([&] { fall_back(op, &given); });
      stack->insert(stack->end(), outs.begin(), outs.end());
      return;
    }
    const std::vector<c10::IValue> results = torch::jit::pop(*stack, count);
    const bool alike = std::ranges::equal(results, outs, {}, type_of, type_of);
    if (!alike) {
      bounded([&] { fall_back(op, &given); });
    } else {
      for (std::size_t i = 0; i < count; ++i) store(results[i].toTensor(), outs[i].toTensor());
    }
    stack->insert(stack->end(), outs.begin(), outs.end());
  }

  /// Out forms that PyTorch generates or checks itself: `out` has to have the type that the result has without it.
  static bool has_its_own_type(const c10::OperatorHandle& functional) {
    const c10::OperatorName& name = functional.operator_name();
    return name.name == "aten::linalg_vector_norm" ||
           (name.overload_name.empty() && (name.name == "aten::sum" || name.name == "aten::prod"));
  }

  static c10::ScalarType type_of(const c10::IValue& value) {
    return value.toTensor().scalar_type();
  }

  /// Without a `dtype` argument, the result has the type of `out`; but norms of complex numbers are real by themselves.
  void choose_type(torch::jit::Stack& stack, const at::Tensor& out) const {
    if (!dtype) return;
    const std::size_t count = functional.schema().arguments().size();
    const bool same_kind =
        torch::jit::peek(stack, 0, count).toTensor().is_complex() == out.is_complex();
    c10::IValue& given = torch::jit::peek(stack, static_cast<std::size_t>(*dtype), count);
    if (!given.isNone() || !same_kind) return;
    if (!is_refused(torch::jit::peek(stack, 0, count).toTensor(), out)) given = out.scalar_type();
  }

  /// Some of CPU's kernels compute in the type of `out` only from, or to, a float.
  bool is_refused(const at::Tensor& self, const at::Tensor& out) const {
    const std::string& name = functional.operator_name().name;
    if (name == "aten::mean") return !self.is_floating_point() && !self.is_complex();
    return name == "aten::nansum" && self.is_floating_point() && !out.is_floating_point();
  }

  static void store(const at::Tensor& result, const at::Tensor& out) {
    resize_output(out, dims_of(result.sizes()), dims_of(result.strides()));
    out.copy_(result);
  }

  c10::OperatorHandle functional;
  std::optional<int> dtype;
};

/// An in-place form: the functional form, then a copy. Where CPU would not just copy, it has the say.
struct InPlaceByCopy final : c10::OperatorKernel {
  explicit InPlaceByCopy(c10::OperatorHandle f) : functional(f) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const auto call = torch::jit::last(*stack, op.schema().arguments().size());
    torch::jit::Stack given(call.begin(), call.end());
    const at::Tensor self = given.front().toTensor();
    functional.callBoxed(stack);
    const at::Tensor result = torch::jit::pop(*stack).toTensor();
    const bool fits =
        c10::canCast(result.scalar_type(), self.scalar_type()) && result.sizes() == self.sizes();
    if (fits) self.copy_(result);
    else bounded([&] { fall_back(op, &given); });
    torch::jit::push(*stack, self);
  }

  c10::OperatorHandle functional;
};

}  // namespace

Forms forms_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string base = str("aten::", name.substr(0, dot));
  const std::string overload(dot == std::string_view::npos ? std::string_view()
                                                           : name.substr(dot + 1));
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  Forms forms;
  forms.functional = dispatcher.findSchema({base, overload});
  if (!forms.functional)
    throw InvalidArgument(str("registration: PyTorch has no operator ", base, '.', overload));
  forms.in_place = find_in_place_form(*forms.functional);
  forms.out = find_out_form(*forms.functional);
  return forms;
}

void Registrations::add_derived(const Forms& forms) {
  if (forms.out) add_boxed<OutByCopy>(*forms.out, *forms.functional);
  if (forms.in_place && forms.in_place->schema().returns().size() == 1)
    add_boxed<InPlaceByCopy>(*forms.in_place, *forms.functional);
}

void Registrations::keep(const c10::OperatorHandle& op, c10::KernelFunction kernel) {
  handles_.push_back(c10::Dispatcher::singleton().registerImpl(
      op.operator_name(), c10::DispatchKey::PrivateUse1, std::move(kernel), std::nullopt, nullptr,
      "registered by torch_spyre"));
}

}  // namespace spyre::engine
