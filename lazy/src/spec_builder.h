// spyre/lazy/spec_builder.h — from a draft to a kernel: steps, arguments, loop order, strides.
#pragma once
#include <span>

#include "partition.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// The finished group. Equal structures give equal specs: arguments and parameters are numbered by
/// first use.
Group build_group(const Partition& partition, const GroupDraft& draft);

}  // namespace spyre::lazy
