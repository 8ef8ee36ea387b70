// spyre/lazy/work_estimate.h — what a fused kernel moves and computes, for the card's clock.
#pragma once
#include "nest.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// `group` is complete but for its work.
device_sim::Work estimate_work(const Group& group, const Nest& nest);

}  // namespace spyre::lazy
