// spyre/engine/registration.h — an operator's dispatcher entries, found from PyTorch's schemas.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "spyre/engine/error_boundary.h"

namespace spyre::engine {

/// The forms of one operator that the dispatcher knows; absent ones do not exist in PyTorch.
struct Forms {
  std::optional<c10::OperatorHandle> functional, in_place, out;
};

/// `name` is the functional overload: "relu", "add.Tensor". The in-place form has the same overload
/// name, the out form is the overload with the same arguments plus outputs. Throws InvalidArgument
/// if there is no such operator.
Forms forms_of(std::string_view name);

/// Keeps the registrations of the PrivateUse1 kernels that it makes. Confined to the thread that
/// loads the library.
class Registrations {
 public:
  /// `Functor` derives from c10::OperatorKernel; its operator() has the operator's C++ signature.
  template <class Functor, class... Args> void add(const c10::OperatorHandle& op, Args&&... args) {
    keep(op, c10::KernelFunction::makeFromUnboxedFunctor<false, Functor>(
                 std::make_unique<Functor>(std::forward<Args>(args)...)));
  }
  /// `Functor`'s operator() takes (const OperatorHandle&, DispatchKeySet, Stack*).
  template <class Functor, class... Args>
  void add_boxed(const c10::OperatorHandle& op, Args&&... args) {
    keep(op, c10::KernelFunction::makeFromBoxedFunctor(
                 std::make_unique<Functor>(std::forward<Args>(args)...)));
  }

  /// Registers `function` for the overload `name`, and from it the in-place and out forms that
  /// exist: they call the functional form and copy.
  template <auto function> void add_function(std::string_view name) {
    const Forms forms = forms_of(name);
    keep(*forms.functional, c10::KernelFunction::makeFromUnboxedRuntimeFunction(guarded<function>));
    add_derived(forms);
  }
  /// The overload `name` alone.
  template <auto function> void add_overload(std::string_view name) {
    keep(*forms_of(name).functional,
         c10::KernelFunction::makeFromUnboxedRuntimeFunction(guarded<function>));
  }
  /// The in-place and out forms, from a registered functional form.
  void add_derived(const Forms& forms);

 private:
  void keep(const c10::OperatorHandle& op, c10::KernelFunction kernel);
  std::vector<c10::RegistrationHandleRAII> handles_;
};

}  // namespace spyre::engine
