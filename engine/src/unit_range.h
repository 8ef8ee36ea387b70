// spyre/engine/unit_range.h — an assertion that runs on the card: all elements lie in [0, 1].
#pragma once
#include <ATen/core/Tensor.h>

#include <string_view>

namespace spyre::engine {

/// Records the check; where it fails, a fault with `message` is raised at the next sync, as for an
/// index out of range. `op` (static storage) is the operator that asks.
void check_unit_range(const at::Tensor& values, std::string_view op, std::string_view message);

}  // namespace spyre::engine
