// spyre/lazy/verify.h — what holds of a graph before and after every pass, and of a plan.
#pragma once
#include "spyre/lazy/graph.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {

/// Throws InternalError that names the node: operands exist and lie in their buffers, strides match
/// sizes, outputs are written once per point, reduced dimensions form one run in the place their
/// kind demands.
void verify(const Graph& graph);

/// Throws InternalError that names the group: every live node runs once, before all that depend on
/// it; kernels' specs are legal, their extents are positive and their bindings parallel to their
/// arguments.
void verify(const Plan& plan);

}  // namespace spyre::lazy
