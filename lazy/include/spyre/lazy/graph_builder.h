// spyre/lazy/graph_builder.h — a finished trace as the compiler's graph.
#pragma once
#include <span>

#include "spyre/lazy/graph.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// Node, buffer and parameter numbers are the trace's own.
Graph build_graph(const Trace& trace, std::span<const BufferFacts> facts);

}  // namespace spyre::lazy
