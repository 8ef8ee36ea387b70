// spyre/device_sim/trace_json.h — a run as Chrome trace events, for Perfetto.
#pragma once
#include <deque>
#include <string>

#include "run_log.h"
#include "timeline.h"

namespace spyre::device_sim {

/// Process 1 shows the modelled card, process 2 what this host really did. One event a line; the
/// modelled ones come first. Times are printed from integers, so equal runs print equal bytes.
std::string trace_json(const ModelledRun& run, const std::deque<WallRow>& wall,
                       std::uint64_t wall_dropped, const DeviceSpec& spec,
                       const TraceOptions& options);

}  // namespace spyre::device_sim
