// spyre/lazy/reordering.h — another loop order for a pointwise nest, so that permuted views can
// fuse.
//
// Points of a pointwise nest may be visited in any order. If a nest visits the elements of a buffer
// in another order than the nest that wrote them (attention heads split off a projection, say), the
// loops of the one are cut and reordered after the other.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "spyre/base/dims.h"

namespace spyre::lazy {

/// From the old loops to the new ones. A plain value.
struct Reordering {
  std::vector<std::size_t> by_memory;  // old dimensions by falling stride of the shared access
  Dims in_memory;                      // their extents
  Dims refined;                        // the same, cut finer
  std::vector<std::size_t> order;      // new loops, as positions in `refined`
  bool keeps_inner = false;            // the innermost loop is (a piece of) the one it was

  Dims extents() const;
  /// Any access over the old loops, rewritten over the new ones.
  Dims strides(const Dims& old) const;
};

/// Makes the loops `extents`, along which a buffer is accessed with `strides`, follow those of
/// `leader_extents`, along which the same elements are accessed with `leader_strides`. None if the
/// loops cannot be cut alike or an access repeats elements.
std::optional<Reordering> follow(const Dims& leader_extents, const Dims& leader_strides,
                                 const Dims& extents, const Dims& strides);

}  // namespace spyre::lazy
