// spyre/lazy/card_traffic.h — what a card moves for a group besides the bytes of its operands.
#pragma once
#include <cstdint>

#include "spyre/base/dims.h"
#include "spyre/device_sim/operation.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// Bytes that fill up the sticks of an operand laid out by the card's own choice: the dimension whose
/// elements are closest lies in the sticks, and each of its rows begins a new one.
std::uint64_t padding_bytes(const Dims& sizes, const Dims& strides, std::uint8_t element_size);

/// Adds padding of operands, and what members pass on to each other (`Work::passed_read`), which has
/// a price only on a card whose scratchpads are not planned. `group` is complete but for its work.
void add_card_traffic(const Graph& graph, const Group& group, device_sim::Work& work);

}  // namespace spyre::lazy
