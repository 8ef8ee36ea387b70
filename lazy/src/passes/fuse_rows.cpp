// spyre/lazy/passes/fuse_rows.cpp — grows row kernels along dependences, both ways.
#include "fuse_rows.h"

#include "candidates.h"

namespace spyre::lazy {

void fuse_rows(Partition& partition) {
  using enum kernels::Form;
  merge_with_producers(partition,
                       Row);  // in order: reductions take in their consumers, phase after phase
  merge_producers_into(partition, Row);  // in reverse: and the chains that produce their inputs
  merge_sharing(partition, Row);         // several statistics of one tensor
}

}  // namespace spyre::lazy
