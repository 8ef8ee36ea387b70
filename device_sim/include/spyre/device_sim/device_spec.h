// spyre/device_sim/device_spec.h — a card as a value: cores, memory, links, clocks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "spyre/base/bytes.h"

namespace spyre::device_sim {

/// Parameters of the "calibrated" profile; sources are named in device_spec.cpp, one line each.
struct DeviceSpec {
  std::string profile = "calibrated";
  int cores = 32;            // SENCORES
  int host_threads = 0;      // threads that play the cores; 0: all processors of this process
  Bytes scratchpad = 2_MiB;  // LX per core
  Bytes scratchpad_usable = {1'625'344};
  Bytes block = 128_B;
  Bytes capacity = {};       // device memory backed by host RAM; 0: half of this machine's
  int regions = 8;           // at most; fewer if they would be smaller than min_region
  Bytes min_region = 8_GiB;  // a tensor lies in one region, so regions stay large
  double memory_gb_per_s = 150;
  double turnaround_ns_per_byte = 0.00574;
  double column_gb_per_s = 113, relayout_gb_per_s = 116, broadcast_gb_per_s = 118;
  double macs_per_ns_core = 1140;
  double core_clock_ghz = 1.1;
  int lanes_per_core = 128;
  double h2d_gb_per_s = 30, d2h_gb_per_s = 40;
  std::uint64_t h2d_setup_ps = 3'000'000, d2h_setup_ps = 2'000'000;
  std::uint64_t host_launch_ps = 30'000'000, host_callback_ps = 5'000'000,
                submit_latency_ps = 2'000'000;
  std::uint64_t host_enqueue_ps = 2'000'000, host_sync_ps = 5'000'000;
};

/// The fields as one flat JSON object, sizes in bytes.
std::string to_json(const DeviceSpec& spec);
/// `base` with the fields of a flat JSON object replaced. Throws InvalidArgument: an unknown key
/// (lists the known ones), a value of the wrong kind, or a value outside its range. `origin` names
/// the text in messages.
DeviceSpec with_json_overrides(DeviceSpec base, std::string_view json, std::string_view origin);

/// Defaults overridden by the environment (SENCORES, SPYRE_THREADS, SPYRE_DEVICE_MEMORY,
/// SPYRE_DEVICE_SPEC=file.json).
DeviceSpec device_spec_from_environment();

}  // namespace spyre::device_sim
