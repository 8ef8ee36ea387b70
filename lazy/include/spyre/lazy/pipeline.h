// spyre/lazy/pipeline.h — from graph to plan: passes in order, checked.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

struct PipelineOptions {
  std::string_view passes{};  // "-fuse_rows,-duplicates": switched off
  bool verify = false;  // check the graph after every pass; throws InternalError naming the pass
  Bytes scratchpad = {1'625'344};  // usable LX per core: the bound of row kernels
  /// Called after each pass that changed something, with text made only then. For SPYRE_LOG and
  /// SPYRE_DUMP.
  std::function<void(std::string_view pass, const std::string& printed)> on_change{};
};

/// The compiled trace without addresses: what runs, in order.
struct Plan {
  Graph graph;                  // as the last pass left it; node numbers are the trace's
  std::vector<Group> groups{};  // in order of execution
  std::uint32_t dead_ops = 0, duplicate_ops = 0;
};

/// Pure: equal graphs and options give equal plans. Throws InternalError only.
Plan run_pipeline(Graph graph, const PipelineOptions& options);

/// Throws InvalidArgument, naming the passes there are, unless `passes` has the form above.
void check_passes(std::string_view passes);

}  // namespace spyre::lazy
