// spyre/base/visible_cards.h — which of the machine's cards a process sees, and under which index.
#pragma once
#include <cstddef>
#include <vector>

namespace spyre {

/// A value.
struct VisibleCards {
  std::size_t of_machine = 1;              // cards that the machine has
  std::vector<std::size_t> numbers = {0};  // of the cards in the machine, by index in this process
  std::size_t first = 0;                   // index of the one that a thread uses until it chooses
  std::size_t count() const { return numbers.size(); }
};

/// From AIU_WORLD_SIZE, SPYRE_DEVICES (a card that is named twice counts once) and LOCAL_RANK.
/// Processes that say nothing of several cards have one, whatever their rank. Throws
/// InvalidArgument.
VisibleCards visible_cards_from_environment();

}  // namespace spyre
