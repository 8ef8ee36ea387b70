// spyre/device_sim/device_spec.h — a card as a value: cores, memory, links, clocks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spyre/base/bytes.h"

namespace spyre::device_sim {

/// Parameters of the "calibrated" profile. Units, ranges and sources are rows of
/// device_parameters.cpp.
struct DeviceSpec {
  std::string profile = "calibrated";
  int cores = 32;            // SENCORES
  int host_threads = 0;      // threads that play the cores; 0: all processors of this process
  Bytes scratchpad = 2_MiB;  // LX per core
  Bytes scratchpad_usable = {1'625'344};
  int scratchpad_planning = 1;  // 0: what a kernel's operations pass on is priced as traffic

  /// "virtual": the modelled host pays a fixed cost per call; "anchored": it takes as long as this
  /// host, and waits for the modelled card; "realtime": this host waits as well.
  /// "off": nothing is priced.
  std::string clock = "virtual";

  // Device memory. The address space has `regions` regions of `region_span`, the last one for
  // programs; `capacity` says how much of the others is backed by host RAM.
  Bytes capacity = {};       // 0: an equal share of half of this machine's memory
  int machine_cards = 1;     // that share it: AIU_WORLD_SIZE
  int regions = 8;           // fewer are used if they would be smaller than min_region
  Bytes min_region = 8_GiB;  // a tensor lies in one region, so regions stay large
  Bytes region_span = 16_GiB;
  Bytes program_capacity = 256_MiB;
  std::string function = "pf";  // "vf": handles of regions are indexes, vf_regions at most
  int vf_regions = 3;
  int memory_domains = 1;                   // a region belongs to one
  std::string region_policy = "first_fit";  // which region an allocation tries first
  int poison = 0;                           // 1: fresh, freed and padding bytes are 0xFF

  double memory_gb_per_s = 150;
  double turnaround_ns_per_byte = 0.00574;
  double row_gb_per_s = 114, short_row_gb_per_s = 61, row_decay = 3700;
  double column_gb_per_s = 113, relayout_gb_per_s = 116, broadcast_gb_per_s = 118;
  double fan_out_limit = 8, fan_out_exponent = 0.92;

  double core_clock_ghz = 1.1;
  double macs_per_ns_core = 1140;
  double batched_macs_per_ns_core = 160;
  double projection_macs_per_ns_core = 705, wide_projection_macs_per_ns_core = 470;
  double macs_per_cycle_core = 1024;  // at best: what utilisation is measured against
  double full_array_rows = 64, underfill_exponent = 0.35;
  double partial_sum_ns = 1, batched_partial_sum_ns = 0.1;
  int lanes_per_core = 128;
  double ring_gb_per_s = 88;
  std::uint64_t kernel_fixed_ps = 0;
  Bytes max_core_span = {268'431'360};

  double h2d_gb_per_s = 30, d2h_gb_per_s = 40;
  std::uint64_t h2d_setup_ps = 3'000'000, d2h_setup_ps = 2'000'000;
  double peer_gb_per_s = 20;  // between cards: each direction, the slower side's
  std::uint64_t peer_setup_ps = 10'000'000;
  double convert_gb_per_s = 7, large_convert_gb_per_s = 3.5;
  Bytes large_conversion = 8_MiB;
  std::uint64_t host_launch_ps = 30'000'000, host_callback_ps = 5'000'000,
                submit_latency_ps = 2'000'000;
  int host_callback_workers = 4;
  int correction_depth = 1;  // launches of a stream whose arguments may be under way at once
  std::uint64_t host_enqueue_ps = 2'000'000, host_sync_ps = 5'000'000;

  double idle_watts = 26.7, cap_watts = 75;
  double mac_pj = 1.1, memory_pj_per_byte = 36;
};

/// A row of the table that the fields above are read, written and documented from.
struct DeviceParameter {
  std::string_view name, unit;
  std::string calibrated, datasheet;  // as JSON
  std::string_view mark;              // S: stated, M: measured on a card, E: our estimate
  std::string_view source;
};
std::vector<DeviceParameter> device_parameters();

/// "calibrated": what was measured; "datasheet": what was announced. Throws InvalidArgument for
/// another name.
DeviceSpec device_profile(std::string_view name);
bool is_device_profile(std::string_view name);

/// The fields as one flat JSON object, sizes in bytes.
std::string to_json(const DeviceSpec& spec);
/// `base` with the fields of a flat JSON object replaced; if its "profile" names a profile that
/// `base` is not, that one is the base. Throws InvalidArgument: an unknown key (lists the known
/// ones), a value of the wrong kind, or a value outside its range. `origin` names the text in
/// messages.
DeviceSpec with_json_overrides(DeviceSpec base, std::string_view json, std::string_view origin);

/// Of a core's scratchpad: what plans may use if `kept_free` (0 to 1) of it stays free, by upstream's
/// formula: 64 KiB belong to programs, and the rest is rounded up to whole sticks.
Bytes usable_scratchpad(Bytes whole, double kept_free);

/// SPYRE_DEVICE_SPEC=file.json or a profile's name, overridden by the variables for single fields
/// (SENCORES, SPYRE_DEVICE_MEMORY, LX_PLANNING, ...).
DeviceSpec device_spec_from_environment();

}  // namespace spyre::device_sim
