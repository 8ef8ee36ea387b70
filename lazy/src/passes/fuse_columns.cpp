// spyre/lazy/passes/fuse_columns.cpp — grows column kernels along dependences.
#include "fuse_columns.h"

#include "candidates.h"

namespace spyre::lazy {

void fuse_columns(Partition& partition) {
  using enum kernels::Form;
  merge_with_producers(partition, Column);
  merge_producers_into(partition, Column);
  merge_sharing(partition, Column);
}

}  // namespace spyre::lazy
