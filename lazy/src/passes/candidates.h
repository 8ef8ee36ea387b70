// spyre/lazy/passes/candidates.h — the orders in which passes try pairs of groups.
#pragma once
#include "partition.h"

namespace spyre::lazy {

/// For each node in recorded order: its group with those of the nodes it depends on, the latest
/// first.
void merge_with_producers(Partition& partition, kernels::Form form);
/// The same pairs, the last node first: a chain is taken in from its end.
void merge_producers_into(Partition& partition, kernels::Form form);
/// Pairs that read the same elements in the same order and do not otherwise depend on each other.
void merge_sharing(Partition& partition, kernels::Form form);

}  // namespace spyre::lazy
