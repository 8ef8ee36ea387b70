// spyre/lazy/passes/fuse_rows.h — row reductions with producers and consumers.
#pragma once
#include "partition.h"

namespace spyre::lazy {

/// Softmax, norms, losses and their backwards become one kernel each.
void fuse_rows(Partition& partition);

}  // namespace spyre::lazy
