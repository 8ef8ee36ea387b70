// spyre/lazy/row_loops.h — a kernel's loops as rows, and what is left of each row.
#pragma once
#include <optional>
#include <vector>

#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// Outer dimensions that number rows, inner ones that stay within a row. Strides as in
/// Group::strides, one list per argument.
struct RowLoops {
  Dims rows, inner;
  std::vector<Dims> row_strides, inner_strides;
};

/// The loops of a kernel over a refinement of `rows` (each above 1), if it has one in which the
/// outer dimensions are those rows. Column kernels have none.
std::optional<RowLoops> row_loops(const Group& kernel, const Dims& rows);

/// The kernel cut to one panel of rows: `loops.rows` without its last dimension goes to the caller.
Stage panel_stage(const Group& kernel, const RowLoops& loops);

/// Without extents of 1.
Dims without_ones(const Dims& extents);

}  // namespace spyre::lazy
