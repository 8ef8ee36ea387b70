// spyre/engine/pointwise_adapters.cpp — the dispatcher's entries for pointwise overloads, by signature.
//
// The common signatures have unboxed kernels; all others go through one boxed kernel. Both find the body's inputs in the
// same way, from the operator's schema.
#include <array>
#include <memory>
#include <ranges>
#include <string>
#include <utility>

#include "cpu_trial.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/pointwise.h"
#include "spyre/engine/ruling.h"
#include "spyre/engine/schema_library.h"

namespace spyre::engine {
namespace {

using Overload = std::shared_ptr<const PointwiseOverload>;

/// No row serves these arguments.
template <class... Args>
at::Tensor without_row(const c10::OperatorHandle& op, const Args&... args) {
  torch::jit::Stack stack;
  torch::jit::push(stack, args...);
  record_elements_or_fall_back(op, &stack);
  return stack.back().toTensor();
}

// Kernels by form and signature. Immutable.

template <class... Args> std::array<Argument, sizeof...(Args)> as_arguments(const Args&... args) {
  return {Argument(args)...};
}

/// One form of an overload: calls that were ruled before go the short way. Immutable.
struct PointwiseForm : c10::OperatorKernel {
  PointwiseForm(Overload o, c10::OperatorHandle h) : overload(std::move(o)), handle(h) {}

  CallKey key_of(Arguments arguments) const {
    return {this, overload->selection(arguments), arguments};
  }
  bool functional(Arguments arguments, at::Tensor& result) const {
    const CallKey key = key_of(arguments);
    Ruling* const known = RulingMemo::of_thread().find(key);
    if (known == nullptr) return overload->functional(arguments, key, result);
    result = known->record(arguments);
    return true;
  }
  bool in_place(Arguments arguments, const at::Tensor& self) const {
    const CallKey key = key_of(arguments);
    Ruling* const known = RulingMemo::of_thread().find(key);
    return (known != nullptr && known->record(arguments, self)) ||
           overload->in_place(arguments, key, self);
  }
  /// `stack`: gives the call as boxed arguments.
  bool out(Arguments arguments, const at::Tensor& out,
           c10::function_ref<torch::jit::Stack()> stack) const {
    const CallKey key = key_of(arguments);
    Ruling* const known = RulingMemo::of_thread().find(key);
    return (known != nullptr && known->record(arguments, out)) ||
           overload->out(arguments, key, out, [&] { (void)try_types_on_cpu(handle, stack()); });
  }

  Overload overload;
  c10::OperatorHandle handle;
};

template <class... Args> struct Functional final : PointwiseForm {
  using PointwiseForm::PointwiseForm;
  at::Tensor operator()(Args... args) {
    return bounded([&]() -> at::Tensor {
      at::Tensor result;
      if (!functional(as_arguments(args...), result)) result = without_row(handle, args...);
      return result;
    });
  }
};

template <class... Args> struct InPlace final : PointwiseForm {
  using PointwiseForm::PointwiseForm;
  at::Tensor& operator()(at::Tensor& self, Args... args) {
    return bounded([&]() -> at::Tensor& {
      if (!in_place(as_arguments(self, args...), self)) without_row(handle, self, args...);
      return self;
    });
  }
};

template <class... Args> struct Out final : PointwiseForm {
  using PointwiseForm::PointwiseForm;
  at::Tensor& operator()(Args... args, at::Tensor& out) {
    return bounded([&]() -> at::Tensor& {
      const auto stack = [&] { return torch::jit::Stack{args..., out}; };
      if (!this->out(as_arguments(args..., out), out, stack)) without_row(handle, args..., out);
      return out;
    });
  }
};

enum class Form : std::uint8_t { Functional, InPlace, Out };

struct Boxed final : PointwiseForm {
  Boxed(Overload o, c10::OperatorHandle h, Form f) : PointwiseForm(std::move(o), h), form(f) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    bounded([&] {
      const std::size_t count = op.schema().arguments().size();
      at::Tensor result;
      if (!run(std::span<const c10::IValue>(*stack).last(count), result))
        return record_elements_or_fall_back(op, stack);
      torch::jit::drop(*stack, count);
      torch::jit::push(*stack, std::move(result));
    });
  }

  bool run(std::span<const c10::IValue> values, at::Tensor& result) const {
    const BoxedArguments arguments(values);
    if (form == Form::Functional) return functional(arguments.get(), result);
    result = (form == Form::InPlace ? values.front() : values.back()).toTensor();
    if (form == Form::InPlace) return in_place(arguments.get(), result);
    return out(arguments.get(), result,
               [&] { return torch::jit::Stack(values.begin(), values.end()); });
  }

  Form form;
};

/// True if PyTorch makes the functional form itself, from a copy and the in-place form.
bool functional_is_derived(const Forms& forms) {
  const auto composite = [](const c10::OperatorHandle& op) {
    return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
  };
  return forms.in_place && composite(*forms.functional) && !composite(*forms.in_place);
}

using Register = void (*)(Registrations&, const Forms&, const Overload&);

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
    registrations.add_boxed<Boxed>(*forms.functional, overload, *forms.functional,
                                   Form::Functional);
  if (forms.in_place)
    registrations.add_boxed<Boxed>(*forms.in_place, overload, *forms.in_place, Form::InPlace);
  if (forms.out) registrations.add_boxed<Boxed>(*forms.out, overload, *forms.out, Form::Out);
}

/// T: Tensor, S: Scalar, O: Scalar?, Z: str, ?: anything else.
char letter_of(const c10::Type& type) {
  if (type == *c10::TensorType::get()) return 'T';
  if (type == *c10::NumberType::get()) return 'S';
  if (type == *c10::StringType::get()) return 'Z';
  const auto* optional = type.castRaw<c10::OptionalType>();
  return optional != nullptr && *optional->getElementType() == *c10::NumberType::get() ? 'O' : '?';
}

Register registration_for(const c10::FunctionSchema& schema) {
  using T = const at::Tensor&;
  using S = const c10::Scalar&;
  using O = const std::optional<c10::Scalar>&;
  using Z = std::string_view;
  static constexpr std::array<std::pair<std::string_view, Register>, 12> kUnboxed{{
      {"T", &register_unboxed<T>},
      {"TT", &register_unboxed<T, T>},
      {"TS", &register_unboxed<T, S>},
      {"TTS", &register_unboxed<T, T, S>},
      {"TSS", &register_unboxed<T, S, S>},
      {"TTT", &register_unboxed<T, T, T>},
      {"TTTS", &register_unboxed<T, T, T, S>},
      {"TTSS", &register_unboxed<T, T, S, S>},
      {"TSSS", &register_unboxed<T, S, S, S>},
      {"TOO", &register_unboxed<T, O, O>},
      {"TZ", &register_unboxed<T, Z>},
      {"TTZ", &register_unboxed<T, T, Z>},
  }};
  std::string letters;
  for (const c10::Argument& a : schema.arguments()) letters += letter_of(*a.type());
  for (const auto& [signature, function] : kUnboxed)
    if (signature == letters) return function;
  return &register_boxed;
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
  for (const auto& [name, rows] : overloads) {
    const Forms forms = forms_of(name);
    const c10::FunctionSchema& schema = forms.functional->schema();
    registration_for(schema)(registrations, forms,
                             std::make_shared<const PointwiseOverload>(schema, rows));
  }
}

}  // namespace spyre::engine
