// spyre/lazy/passes/fuse_columns.h — column reductions with what feeds and follows.
#pragma once
#include "partition.h"

namespace spyre::lazy {

/// Bias gradients with the activation's backward, sums over the batch with their scaling.
void fuse_columns(Partition& partition);

}  // namespace spyre::lazy
