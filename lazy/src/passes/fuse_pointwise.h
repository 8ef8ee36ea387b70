// spyre/lazy/passes/fuse_pointwise.h — chains and diamonds of pointwise operations become one loop.
#pragma once
#include "partition.h"

namespace spyre::lazy {

void fuse_pointwise(Partition& partition);

}  // namespace spyre::lazy
