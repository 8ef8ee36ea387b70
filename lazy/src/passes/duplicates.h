// spyre/lazy/passes/duplicates.h — computes equal things once.
#pragma once
#include "spyre/lazy/graph.h"

namespace spyre::lazy {

/// A node equal to an earlier one, on operands in the same state, dies if its readers can read the
/// earlier one's output instead: both outputs are laid out alike, nothing else writes to either,
/// and nobody sees the later one after the trace.
Graph duplicates(Graph graph);

}  // namespace spyre::lazy
