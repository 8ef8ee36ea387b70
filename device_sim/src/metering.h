// spyre/device_sim/metering.h — what an operation adds to its card's meters.
#pragma once
#include "clock.h"
#include "spyre/device_sim/card.h"
#include "spyre/device_sim/memory.h"
#include "spyre/device_sim/meters.h"

namespace spyre::device_sim {

/// A submission, in the card's own counters.
void count(CardCounters& counters, const Operation& operation, PipelineId pipeline);
/// A submission, with its place on the modelled clock.
void meter(Meters& meters, const Charge& charge, const ModelledSpan& span, const DeviceSpec& spec);
/// The state of the memory.
void meter(Meters& meters, const MemoryStats& stats, Bytes reserved);

}  // namespace spyre::device_sim
