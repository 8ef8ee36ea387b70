// spyre/lazy/iteration_space.cpp — see iteration_space.h.
#include "spyre/lazy/iteration_space.h"

#include <algorithm>
#include <numeric>

namespace spyre::lazy {
namespace {

bool mergeable(std::span<const Dims> strides, std::size_t outer, std::size_t inner,
               std::int64_t inner_extent) {
  return std::ranges::all_of(strides,
                             [&](const Dims& s) { return s[outer] == s[inner] * inner_extent; });
}

}  // namespace

void coalesce(Dims& extents, std::span<Dims> strides) {
  std::size_t kept = 0;  // dimensions [0, kept) are final
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    if (kept > 0 && mergeable(strides, kept - 1, d, extents[d])) {
      extents[kept - 1] *= extents[d];
      for (Dims& s : strides) s[kept - 1] = s[d];
      continue;
    }
    extents[kept] = extents[d];
    for (Dims& s : strides) s[kept] = s[d];
    ++kept;
  }
  extents.resize(kept);
  for (Dims& s : strides) s.resize(kept);
}

std::optional<Dims> common_refinement(const Dims& a, const Dims& b) {
  if (a == b) return a;
  // From the innermost dimension outwards: `left_a` and `left_b` are what remains of the current
  // extents.
  Dims reversed;
  std::size_t i = a.size(), j = b.size();
  std::int64_t left_a = 1, left_b = 1;
  while (true) {
    if (left_a == 1 && i > 0) left_a = a[--i];
    if (left_b == 1 && j > 0) left_b = b[--j];
    if (left_a == 1 && left_b == 1) break;
    const std::int64_t step = std::min(left_a, left_b);
    if (step == 1 || left_a % step != 0 || left_b % step != 0 || reversed.size() == kMaxRank)
      return std::nullopt;
    reversed.push_back(step);
    left_a /= step;
    left_b /= step;
  }
  reversed.reverse();
  return reversed;
}

Dims split_strides(const Dims& extents, const Dims& strides, const Dims& refined) {
  if (extents == refined) return strides;
  Dims split = Dims::filled(refined.size(), 0);
  std::size_t r = refined.size();
  for (std::size_t d = extents.size(); d-- > 0;) {
    std::int64_t stride = strides[d];
    for (std::int64_t left = extents[d]; left > 1; left /= refined[r]) {
      split[--r] = stride;
      stride *= refined[r];
    }
  }
  return split;
}

Dims concat(const Dims& a, const Dims& b) {
  Dims both = a;
  for (const std::int64_t v : b) both.push_back(v);
  return both;
}

std::optional<SplitSpace> split_space(const Dims& extents, std::int64_t head_points) {
  SplitSpace split;
  std::int64_t points = 1;
  for (const std::int64_t extent : extents) {
    Dims& part = points == head_points ? split.tail : split.head;
    part.push_back(extent);
    if (&part == &split.head) points *= extent;
  }
  if (points != head_points) return std::nullopt;
  return split;
}

}  // namespace spyre::lazy
