// spyre/device_sim/report.h — what a run's modelled time went into.
#pragma once
#include <string>

#include "run_log.h"

namespace spyre::device_sim {

/// Totals, pipelines, kernels (the longest in all first), roofline; one JSON object. Pure.
std::string report_json(const ModelledRun& run, const DeviceSpec& spec);

}  // namespace spyre::device_sim
