// spyre/device_sim/hazard.h — does the device memory that two operations touch fix their order?
#pragma once
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {

/// True if one of them writes a byte that the other reads or writes. Exact ranges. What a transfer
/// moves and the arguments of a compute operation count, whether or not the footprint repeats them.
bool conflict(const Operation& a, const Operation& b);

}  // namespace spyre::device_sim
