// spyre/kernels/invariants.h — what does not vary from point to point is computed once: per run, or per row.
#pragma once
#include "spyre/kernels/lowering.h"

namespace spyre::kernels {

/// Moves micro-ops of the point programs that depend on parameters alone into the uniform segment, and those that
/// depend on a row's values as well in front of their pass.
void hoist_invariants(LoweredKernel& kernel);

/// Drops instructions, and loads, that nothing reads and renumbers the rest.
void remove_dead(Segment& segment);

}  // namespace spyre::kernels
