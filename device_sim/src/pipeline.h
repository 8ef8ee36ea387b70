// spyre/device_sim/pipeline.h — the units of a card that take operations, one queue each.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {

enum class PipelineId : std::uint8_t {
  HostToDevice,
  DeviceToHost,
  Compute,
  Callback,  // host threads; unordered between streams
  Join,      // no unit: a stream waits for a point of another; unordered between streams
};
inline constexpr std::size_t kPipelineCount = 5;

/// True if the pipeline takes one operation at a time, in the order of submission.
constexpr bool is_serial(PipelineId pipeline) { return pipeline <= PipelineId::Compute; }

constexpr std::string_view name_of(PipelineId pipeline) {
  constexpr std::array<std::string_view, kPipelineCount> kNames{"H2D", "D2H", "COMPUTE",
                                                                "host-callback", "join"};
  return kNames[static_cast<std::size_t>(pipeline)];
}

/// What comes from another card takes the way of what comes from the host, and so back.
inline PipelineId pipeline_of(const Operation& operation) {
  using enum PipelineId;
  constexpr std::array kPipelines{HostToDevice, DeviceToHost, Compute,      Callback,
                                  HostToDevice, DeviceToHost, HostToDevice, Join};
  static_assert(std::variant_size_v<decltype(Operation::what)> == kPipelines.size());
  return kPipelines[operation.what.index()];
}

}  // namespace spyre::device_sim
