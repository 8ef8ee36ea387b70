// spyre/engine/src/selection.h — operators whose results are as long as their data say: rules for the tables.
#pragma once
#include "spyre/engine/schema_library.h"

namespace spyre::engine {

/// Geometry before anything is counted: 0 along dimension 0.
void shapes_of_nonzero(const c10::OperatorHandle& op, torch::jit::Stack& stack);
void shapes_of_masked_select(const c10::OperatorHandle& op, torch::jit::Stack& stack);
void shapes_of_bincount(const c10::OperatorHandle& op, torch::jit::Stack& stack);

std::int64_t count_nonzero(c10::ArrayRef<c10::IValue> arguments);
std::int64_t count_masked_select(c10::ArrayRef<c10::IValue> arguments);
std::int64_t count_bins(c10::ArrayRef<c10::IValue> arguments);

}  // namespace spyre::engine
