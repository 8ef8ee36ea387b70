// spyre/device_sim/price.h — how long the modelled card takes for one operation. Pure functions.
#pragma once
#include "picoseconds.h"
#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {

/// The larger of memory time and arithmetic time (upstream's cost model, calibrated on a card).
Picoseconds compute_price(const Work& work, const DeviceSpec& spec);

/// What `operation` occupies its pipeline for.
Picoseconds price(const Operation& operation, const DeviceSpec& spec);

/// What its submission costs the host.
Picoseconds host_price(const Operation& operation, const DeviceSpec& spec);

}  // namespace spyre::device_sim
