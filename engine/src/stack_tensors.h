// spyre/engine/src/stack_tensors.h — the tensors in one value of a boxed call, alone or in lists.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>

namespace spyre::engine {

template <class Visit> void for_each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) return visit(value.toTensor());
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const auto& tensor : value.toOptionalTensorVector()) {
      if (tensor.has_value()) visit(*tensor);
    }
  }
}

/// The value with every tensor replaced by what `change` gives for it.
template <class Change> c10::IValue with_tensors(const c10::IValue& value, Change&& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> changed;
    for (const at::Tensor& tensor : value.toTensorVector()) changed.push_back(change(tensor));
    return changed;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> changed;
    for (const auto& tensor : value.toOptionalTensorVector()) {
      changed.push_back(tensor.has_value() ? std::optional(change(*tensor)) : std::nullopt);
    }
    return changed;
  }
  return value;
}

}  // namespace spyre::engine
