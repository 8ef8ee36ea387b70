// spyre/lazy/reordering.cpp — both nests are brought into memory order, where they can be compared.
#include "reordering.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "spyre/lazy/iteration_space.h"

namespace spyre::lazy {
namespace {

std::vector<std::size_t> by_falling_stride(const Dims& strides) {
  std::vector<std::size_t> order(strides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t d) { return -std::abs(strides[d]); });
  return order;
}

Dims picked(const Dims& dims, const std::vector<std::size_t>& order) {
  Dims result;
  for (const std::size_t d : order) result.push_back(dims[d]);
  return result;
}

/// Where the pieces of each dimension of `coarse` begin in its refinement `fine`; one past the
/// last.
std::vector<std::size_t> first_pieces(const Dims& coarse, const Dims& fine) {
  std::vector<std::size_t> first{0};
  std::size_t piece = 0;
  for (const std::int64_t extent : coarse) {
    for (std::int64_t points = 1; points < extent; ++piece) points *= fine[piece];
    first.push_back(piece);
  }
  return first;
}

std::size_t position_of(const std::vector<std::size_t>& order, std::size_t dimension) {
  return static_cast<std::size_t>(std::ranges::find(order, dimension) - order.begin());
}

}  // namespace

Dims Reordering::extents() const { return picked(refined, order); }

Dims Reordering::strides(const Dims& old) const {
  return picked(split_strides(in_memory, picked(old, by_memory), refined), order);
}

std::optional<Reordering> follow(const Dims& leader_extents, const Dims& leader_strides,
                                 const Dims& extents, const Dims& strides) {
  const auto repeats = [](const Dims& s) { return std::ranges::find(s, 0) != s.end(); };
  if (extents.empty() || repeats(leader_strides) || repeats(strides)) return std::nullopt;
  const std::vector<std::size_t> leader_order = by_falling_stride(leader_strides);
  const Dims leader_memory = picked(leader_extents, leader_order);

  Reordering r{
      .by_memory = by_falling_stride(strides), .in_memory = {}, .refined = {}, .order = {}};
  r.in_memory = picked(extents, r.by_memory);
  const auto refined = common_refinement(leader_memory, r.in_memory);
  if (!refined) return std::nullopt;
  r.refined = *refined;

  const std::vector<std::size_t> leader_first = first_pieces(leader_memory, r.refined);
  for (std::size_t d = 0; d < leader_extents.size(); ++d) {
    const std::size_t at = position_of(leader_order, d);
    for (std::size_t p = leader_first[at]; p < leader_first[at + 1]; ++p) r.order.push_back(p);
  }
  const std::size_t inner = position_of(r.by_memory, extents.size() - 1);
  r.keeps_inner = r.order.back() + 1 == first_pieces(r.in_memory, r.refined)[inner + 1];
  return r;
}

}  // namespace spyre::lazy
