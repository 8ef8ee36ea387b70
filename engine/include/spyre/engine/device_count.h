// spyre/engine/device_count.h — the cards that a process sees; known without starting anything.
#pragma once
#include <c10/core/Device.h>

#include "spyre/base/visible_cards.h"

namespace spyre::engine {

/// What the environment said when somebody first asked. Throws InvalidArgument, each time, if it is wrong.
const VisibleCards& visible_cards();
/// Once, when the module loads, if another module has read the environment already.
void set_visible_cards(const VisibleCards& (*provider)());

c10::DeviceIndex device_count();
/// For questions that must not throw: 0 if the environment is wrong, which the first use tells.
c10::DeviceIndex device_count_or_none() noexcept;
/// What a thread uses until it chooses a card; 0 if the environment is wrong.
c10::DeviceIndex first_device() noexcept;

}  // namespace spyre::engine
