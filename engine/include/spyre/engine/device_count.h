// spyre/engine/device_count.h — the cards that a process sees; known without starting anything.
#pragma once
#include <c10/core/Device.h>

namespace spyre::engine {

constexpr c10::DeviceIndex device_count() noexcept { return 1; }

}  // namespace spyre::engine
