// spyre/lazy/passes/fuse_panels.h — chains of products and the kernels around them run panel by
// panel of rows.
#pragma once
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {

/// Attention, whose scores then never exist as a whole, and products with what follows them.
void fuse_panels(Plan& plan, Bytes scratchpad);

}  // namespace spyre::lazy
