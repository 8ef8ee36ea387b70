// spyre/engine/schema_rules.h — shape rules of PyTorch's own, for the tables of the library tier.
#pragma once
#include <ATen/core/boxing/KernelFunction.h>

#include <span>

#include "spyre/engine/schema_library.h"

namespace spyre::engine {

/// The C++ rule of an operator that PyTorch declares as structured.
template <class Op, typename Op::schema* kRule>
void shapes_by(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  static const c10::KernelFunction rule = c10::KernelFunction::makeFromUnboxedFunction(
      c10::CompileTimeFunctionPointer<typename Op::schema, kRule>());
  rule.callBoxed(op, c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
}

/// Linear algebra and functions of mathematics: a part of schema_library_rows().
std::span<const SchemaLibraryRow> mathematics_library_rows();

}  // namespace spyre::engine
