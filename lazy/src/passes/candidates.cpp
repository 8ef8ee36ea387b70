// spyre/lazy/passes/candidates.cpp — see candidates.h.
#include "candidates.h"

#include <algorithm>

namespace spyre::lazy {
namespace {

using Kind = Dependence::Kind;

/// `producers`: room for them, used again and again.
void merge_inputs(Partition& partition, std::uint32_t node, kernels::Form form,
                  std::vector<std::uint32_t>& producers) {
  if (partition.graph().nodes[node].dead) return;
  producers.clear();
  for (const Dependence& d : partition.dependences().into(node))
    if (d.kind != Kind::Share) producers.push_back(d.from);
  std::ranges::sort(producers, std::greater{});
  for (const std::uint32_t p : producers) partition.try_merge(p, node, form);
}

std::uint32_t node_count(const Partition& partition) {
  return static_cast<std::uint32_t>(partition.graph().nodes.size());
}

}  // namespace

void merge_with_producers(Partition& partition, kernels::Form form) {
  std::vector<std::uint32_t> producers;
  for (std::uint32_t n = 0; n < node_count(partition); ++n)
    merge_inputs(partition, n, form, producers);
}

void merge_producers_into(Partition& partition, kernels::Form form) {
  std::vector<std::uint32_t> producers;
  for (std::uint32_t n = node_count(partition); n-- > 0;)
    merge_inputs(partition, n, form, producers);
}

void merge_sharing(Partition& partition, kernels::Form form) {
  for (std::uint32_t n = 0; n < node_count(partition); ++n)
    for (const Dependence& d : partition.dependences().into(n)) {
      if (d.kind != Kind::Share) continue;
      const bool alike = partition.draft(partition.group_of(d.from)).nest.form == form &&
                         partition.draft(partition.group_of(n)).nest.form == form;
      if (alike) partition.try_merge(d.from, n, form);
    }
}

}  // namespace spyre::lazy
