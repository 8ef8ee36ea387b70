// spyre/lazy/passes/dead_code.h — marks nodes whose bytes nobody can see.
#pragma once
#include "spyre/lazy/graph.h"

namespace spyre::lazy {

/// Liveness is of buffer bytes, never of tensors: a write through a dead view of a live buffer
/// stays.
Graph dead_code(Graph graph);

}  // namespace spyre::lazy
