// spyre/lazy/passes/constants.h — reads of memory that was filled with one scalar become that
// scalar.
#pragma once
#include "spyre/lazy/graph.h"

namespace spyre::lazy {

/// ones_like and zeros need no memory traffic where pointwise operations consume them; dead_code
/// then drops fills that nobody else reads.
Graph constants(Graph graph);

}  // namespace spyre::lazy
