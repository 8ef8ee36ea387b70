// spyre/lazy/access.cpp — see access.h.
#include "access.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "spyre/lazy/iteration_space.h"

namespace spyre::lazy {
namespace {

using Order = std::array<std::size_t, kMaxRank>;

/// The dimensions by rising strides.
Order by_stride(const Access& a) {
  Order order{};
  for (std::size_t d = 0; d < a.extents.size(); ++d) order[d] = d;
  std::sort(order.begin(), order.begin() + a.extents.size(), [&](std::size_t x, std::size_t y) {
    return std::abs(a.strides[x]) < std::abs(a.strides[y]);
  });
  return order;
}

/// Dense: sorted by stride, each stride is the number of elements inside it.
bool is_dense(const Access& a) {
  const Order order = by_stride(a);
  std::int64_t elements = 1;
  for (std::size_t k = 0; k < a.extents.size(); ++k) {
    if (std::abs(a.strides[order[k]]) != elements) return false;
    elements *= a.extents[order[k]];
  }
  return true;
}

void find_range(Access& a) {
  std::int64_t lowest = a.offset, highest = a.offset;
  for (std::size_t d = 0; d < a.extents.size(); ++d) {
    const std::int64_t reach = (a.extents[d] - 1) * a.strides[d];
    (reach < 0 ? lowest : highest) += reach;
  }
  a.begin = lowest * a.element_size;
  a.end = (highest + 1) * a.element_size;
}

/// Bytes of a period that an access may touch: [low, high) modulo the period.
struct Window {
  std::int64_t low, high;
};

/// The access modulo `period` bytes: dimensions whose stride is a multiple of it vanish.
Window window_of(const Access& a, std::int64_t period) {
  std::int64_t low = a.offset * a.element_size, span = a.element_size;
  for (std::size_t d = 0; d < a.extents.size(); ++d) {
    const std::int64_t stride = a.strides[d] * a.element_size;
    if (stride % period == 0) continue;
    span += (a.extents[d] - 1) * std::abs(stride);
    if (stride < 0) low += (a.extents[d] - 1) * stride;
  }
  low = (low % period + period) % period;
  return {low, low + span};
}

/// Interleaved accesses: columns or column blocks of one matrix, say.
bool interleaved(const Access& a, const Access& b) {
  for (const Dims* strides : {&a.strides, &b.strides}) {
    const std::int64_t size = strides == &a.strides ? a.element_size : b.element_size;
    for (const std::int64_t stride : *strides) {
      const std::int64_t period = std::abs(stride * size);
      if (period <= size) continue;
      const Window x = window_of(a, period), y = window_of(b, period);
      if (x.high <= period && y.high <= period && (x.high <= y.low || y.high <= x.low)) return true;
    }
  }
  return false;
}

/// The same window of memory, whatever the order it is walked in.
bool permuted(const Access& a, const Access& b) {
  if (a.begin != b.begin || a.end != b.end || a.extents.numel() != b.extents.numel()) return false;
  const auto in_memory = [](const Access& access) {
    std::vector<std::pair<std::int64_t, std::int64_t>> loops;  // falling strides and extents
    loops.reserve(access.extents.size());
    for (std::size_t d = 0; d < access.extents.size(); ++d)
      loops.emplace_back(access.strides[d], access.extents[d]);
    std::ranges::sort(loops, std::greater{});
    Access sorted;
    for (const auto& [stride, extent] : loops)
      sorted.extents.push_back(extent), sorted.strides.push_back(stride);
    coalesce(sorted.extents, {&sorted.strides, 1});
    return sorted;
  };
  const Access x = in_memory(a), y = in_memory(b);
  // Rising strides that are at least as long as the loops inside: no element is met twice.
  std::int64_t inside = 1;
  for (std::size_t d = x.extents.size(); d-- > 0; inside = x.strides[d] * x.extents[d])
    if (x.strides[d] < inside) return false;
  return x.extents == y.extents && x.strides == y.strides;
}

bool repeats(const Access& once, const Access& repeated) {
  const std::size_t rank = once.extents.size();
  return repeated.extents.size() == rank + 1 && repeated.strides[rank] == 0 &&
         std::equal(once.extents.begin(), once.extents.end(), repeated.extents.begin()) &&
         std::equal(once.strides.begin(), once.strides.end(), repeated.strides.begin());
}

}  // namespace

bool Access::covers(const Access& other) const {
  if (dense) return begin <= other.begin && other.end <= end;
  return typed && other.typed && element_size == other.element_size && offset == other.offset &&
         extents == other.extents && strides == other.strides;
}

bool Access::may_meet_twice() const {
  if (dense) return false;
  const Order order = by_stride(*this);
  std::int64_t reach = 0;  // of the shorter strides
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const std::int64_t stride = std::abs(strides[order[k]]);
    if (stride <= reach) return true;
    reach += (extents[order[k]] - 1) * stride;
  }
  return false;
}

std::int64_t Access::distinct_bytes() const {
  std::int64_t bytes = element_size;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (strides[d] != 0) bytes *= extents[d];
  return bytes;
}

Access access_of(const Graph& graph, const Node& node, std::size_t position) {
  const Operand& operand = graph.all_operands(node)[position];
  const bool library = node.kind == Node::Kind::Library;
  Access a{.buffer = operand.index,
           .dtype = operand.dtype,
           .element_size = operand.element_size,
           .typed = !library,
           .offset = operand.offset};
  const Dims& sizes = library ? graph.library_sizes[node.first_operand + position] : node.sizes;
  const std::uint32_t dropped = position >= node.input_count ? node.reduced : 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if ((dropped >> d) & 1U) continue;
    a.extents.push_back(sizes[d]);
    a.strides.push_back(operand.strides[d]);
  }
  if (a.extents.numel() == 0) return a;  // a library operand without elements: touches nothing
  coalesce(a.extents, {&a.strides, 1});
  find_range(a);
  a.dense = is_dense(a);
  return a;
}

Relation relate(const Access& earlier, const Access& later) {
  if (earlier.end <= later.begin || later.end <= earlier.begin) return Relation::Disjoint;
  const bool same_start = earlier.typed && later.typed && earlier.dtype == later.dtype &&
                          earlier.offset == later.offset;
  if (same_start && earlier.extents == later.extents && earlier.strides == later.strides)
    return Relation::Same;
  if (same_start && repeats(earlier, later)) return Relation::Broadcast;
  if (same_start && permuted(earlier, later)) return Relation::Permuted;
  return interleaved(earlier, later) ? Relation::Disjoint : Relation::Conflict;
}

Relation relate_to_write(const Access& earlier, const Access& later) {
  const Relation relation = relate(earlier, later);
  const bool by_points = relation == Relation::Same || relation == Relation::Broadcast;
  return by_points && earlier.may_meet_twice() ? Relation::Conflict : relation;
}

}  // namespace spyre::lazy
