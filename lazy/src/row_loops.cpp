// spyre/lazy/row_loops.cpp — see row_loops.h.
#include "row_loops.h"

#include <algorithm>

#include "spyre/lazy/iteration_space.h"

namespace spyre::lazy {
namespace {

using kernels::Form;

Dims part(const Dims& dims, std::size_t begin, std::size_t end) {
  return Dims(dims.span().subspan(begin, end - begin));
}

}  // namespace

Dims without_ones(const Dims& extents) {
  Dims kept;
  for (const std::int64_t e : extents)
    if (e != 1) kept.push_back(e);
  return kept;
}

std::optional<RowLoops> row_loops(const Group& kernel, const Dims& rows) {
  if (kernel.spec.form == Form::Column) return std::nullopt;
  const std::size_t rank = kernel.extents.size();
  const std::size_t outer_rank = kernel.spec.form == Form::Row ? rank - 1 : rank;
  const Dims all = part(kernel.extents, 0, outer_rank), outer = without_ones(all);
  const std::int64_t points = rows.numel();
  if (outer.numel() % points != 0) return std::nullopt;
  const auto refined =
      common_refinement(outer, without_ones(concat(rows, {outer.numel() / points})));
  if (!refined) return std::nullopt;
  const auto split = split_space(*refined, points);
  if (!split) return std::nullopt;

  RowLoops loops{.rows = split->head, .inner = split->tail, .row_strides = {}, .inner_strides = {}};
  for (std::size_t d = outer_rank; d < rank; ++d) loops.inner.push_back(kernel.extents[d]);
  for (std::size_t a = 0; a < kernel.bindings.size(); ++a) {
    const std::int64_t* const strides = kernel.strides.data() + a * rank;
    Dims moving;
    for (std::size_t d = 0; d < outer_rank; ++d)
      if (kernel.extents[d] != 1) moving.push_back(strides[d]);
    const Dims over = split_strides(outer, moving, *refined);
    loops.row_strides.push_back(part(over, 0, split->head.size()));
    Dims inner = part(over, split->head.size(), over.size());
    for (std::size_t d = outer_rank; d < rank; ++d) inner.push_back(strides[d]);
    loops.inner_strides.push_back(inner);
  }
  return loops;
}

Stage panel_stage(const Group& kernel, const RowLoops& loops) {
  const std::size_t last = loops.rows.size() - 1;
  const bool pointwise = kernel.spec.form == Form::Pointwise;
  bool merges = pointwise && !loops.inner.empty();
  for (std::size_t a = 0; merges && a < loops.row_strides.size(); ++a)
    merges = loops.row_strides[a][last] == loops.inner_strides[a][0] * loops.inner[0];

  Stage stage{.group = kernel, .row_strides = loops.row_strides};
  Group& group = stage.group;
  group.extents = merges ? loops.inner : concat({loops.rows.back()}, loops.inner);
  stage.points_per_row = merges ? loops.inner[0] : 1;
  if (merges) group.extents[0] *= loops.rows.back();
  group.strides.clear();
  for (std::size_t a = 0; a < loops.row_strides.size(); ++a) {
    if (!merges) group.strides.push_back(loops.row_strides[a][last]);
    group.strides.insert(group.strides.end(), loops.inner_strides[a].begin(),
                         loops.inner_strides[a].end());
  }
  group.spec.rank = static_cast<std::uint8_t>(group.extents.size());
  return stage;
}

}  // namespace spyre::lazy
