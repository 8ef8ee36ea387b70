// spyre/lazy/passes/fuse_columns.h — column reductions take in what produces their input and what follows their results.
#pragma once
#include "partition.h"

namespace spyre::lazy {

/// Bias gradients with the activation's backward, sums over the batch with their scaling.
void fuse_columns(Partition& partition);

}  // namespace spyre::lazy
