// spyre/lazy/graph_printer.h — graphs and plans as stable text, and as dot.
#pragma once
#include <string>

#include "spyre/lazy/graph.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {

/// One line per node: `%3 = add f32 [4, 8] (b0[8, 1], b1[0, 1]+2) -> b2[8, 1]`.
std::string print(const Graph& graph);
/// One block per group: members, why the next node did not join, spec, extents, bindings.
std::string print(const Plan& plan);
/// Groups as clusters, buffers as edges.
std::string print_dot(const Plan& plan);

}  // namespace spyre::lazy
