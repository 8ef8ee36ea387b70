// spyre/lazy/captured_graph.h — what a capture left: a program that runs again at every replay.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spyre/lazy/device.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/launch_plan.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// Traces that were recorded and never launched, as long as they got, with what their plans may
/// know of each buffer: fixed at the capture, so that every replay runs the same plans. Owns what
/// the program reads from before it and what can be seen of its results. Guarded by the device's
/// lock; whoever made it ends it, and the device outlives it.
class CapturedGraph {
 public:
  explicit CapturedGraph(StreamId origin) : origin_(origin) {}

  bool empty() const { return segments_.empty(); }
  std::size_t nodes() const;
  /// One line per node, a block per trace.
  std::string text() const;

 private:
  friend class Device;
  struct Segment {
    explicit Segment(StreamId stream) : trace(stream) {}
    Trace trace;
    std::vector<BufferFacts> facts;
    std::vector<std::uint32_t> seeds;  // parameters; after each comes its offset
    std::vector<std::uint32_t> needs;  // buffers whose content comes from before the trace
    std::shared_ptr<const LaunchPlan> plan;
  };

  StreamId origin_;  // what the capture has to do on the card, it does there
  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<BufferRef> held_;
  std::vector<BufferRef> unwritten_;  // results, until the first replay
  std::uint64_t planned_ = 0;         // Planner::settings_version of the plans; 0: none yet
};

}  // namespace spyre::lazy
