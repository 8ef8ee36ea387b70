// spyre/lazy/iteration_space.h — algebra of loop nests: coalesce, refine, split.
//
// A space is a list of extents, row-major, each above 1; the empty list is a single point. Two
// spaces with equally many points are views of one sequence of points if some third space refines
// both: [6, 4] and [24] have [6, 4]; [6, 4] and [4, 6] have none. Reshapes between operations
// vanish this way.
#pragma once
#include <optional>
#include <span>

#include "spyre/base/dims.h"

namespace spyre::lazy {

/// Drops extents of 1 and merges neighbours wherever every access allows it: the shortest form of
/// the nest. `strides`: one list per access, parallel to `extents`; changed with it.
void coalesce(Dims& extents, std::span<Dims> strides);

/// The coarsest space that refines both; none if there is none, or if its rank is above kMaxRank.
/// Any two spaces whose point counts differ have none.
std::optional<Dims> common_refinement(const Dims& a, const Dims& b);

/// The strides of an access over `extents`, rewritten over `refined`, a refinement of `extents`.
Dims split_strides(const Dims& extents, const Dims& strides, const Dims& refined);

/// Both lists, one behind the other.
Dims concat(const Dims& a, const Dims& b);

/// Cuts a space into the part whose points number `head_points`, and the rest. None if no dimension
/// ends there.
struct SplitSpace {
  Dims head, tail;
};
std::optional<SplitSpace> split_space(const Dims& extents, std::int64_t head_points);

}  // namespace spyre::lazy
