// spyre/lazy/passes/fuse_pointwise.cpp — vertical first, then neighbours that read the same tensor.
#include "fuse_pointwise.h"

#include "candidates.h"

namespace spyre::lazy {

void fuse_pointwise(Partition& partition) {
  using enum kernels::Form;
  merge_with_producers(partition, Pointwise);
  merge_sharing(partition, Pointwise);
}

}  // namespace spyre::lazy
