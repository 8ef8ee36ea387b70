// spyre/engine/generator.h — the counter-based random state: a seed and an offset, reserved when an op is recorded.
#pragma once
#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "spyre/base/ids.h"

namespace spyre::engine {

struct PhiloxState {
  std::uint64_t seed = 0, offset = 0;
};

/// Takes `count` counters from the generator (the device's default if none is given): the state before, atomically.
/// Throws TypeMismatch for a generator of another device, and c10::Error for one that a graph's replays would not know.
PhiloxState reserve(const std::optional<at::Generator>& generator, c10::Device device,
                    std::uint64_t count);

/// From here on whoever records on `capture` draws from a copy of the default generator, and sets and reads that: the
/// generator itself goes on for the others. Returns the copy.
PhiloxState begin_capture_draws(c10::DeviceIndex device, StreamId capture);
/// Drops the copy; returns what it was at the end.
PhiloxState end_capture_draws(c10::DeviceIndex device, StreamId capture);

/// Starts nothing: seeding comes before first use. Index -1: the current device.
const at::Generator& default_generator(c10::DeviceIndex device);
at::Generator new_generator(c10::DeviceIndex device);

}  // namespace spyre::engine
