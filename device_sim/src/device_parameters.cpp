// spyre/device_sim/device_parameters.cpp — the table; where each number comes from.
//
// Marks: S stated by the source, M measured on a card, E our estimate. Two profiles differ in the
// values that datasheet() sets.
#include "device_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr double kAboveZero = 1e-9;
constexpr std::string_view kUpstream = "upstream's documents";
constexpr std::string_view kCostModel = "upstream's cost model";
constexpr std::string_view kDescription = "the compiler's device description";
constexpr std::string_view kSuite = "public performance-suite runs";
constexpr std::string_view kOurs = "no public figure";
constexpr std::string_view kHere = "a setting of the simulation";

using Spec = DeviceSpec;

constexpr std::array kFields{
    Field{"profile", &Spec::profile, 0, 0, "", "", "the profile that the values start from",
          "calibrated|datasheet"},
    Field{"cores", &Spec::cores, 1, 32, "", "S", kUpstream},
    Field{"host_threads", &Spec::host_threads, 0, 1024, "", "", kHere},
    Field{"scratchpad", &Spec::scratchpad, 65536, 1 << 30, "B per core", "S", kUpstream},
    Field{"scratchpad_usable", &Spec::scratchpad_usable, 0, 1 << 30, "B per core", "E",
          "(2 MiB - 64 KiB) x 0.8, upstream's formula"},
    Field{"scratchpad_planning", &Spec::scratchpad_planning, 0, 1, "", "S", kUpstream},
    Field{"clock", &Spec::clock, 0, 0, "", "", kHere, "virtual|anchored|realtime|off"},
    Field{"capacity", &Spec::capacity, 0, 1e18, "B", "", kHere},
    Field{"machine_cards", &Spec::machine_cards, 1, 64, "", "", kHere},
    Field{"regions", &Spec::regions, 1, 4096, "", "S", kUpstream},
    Field{"min_region", &Spec::min_region, 0, 1e18, "B", "", kHere},
    Field{"region_span", &Spec::region_span, 1 << 21, 1e18, "B", "S", kUpstream},
    Field{"program_capacity", &Spec::program_capacity, 1 << 21, 1e18, "B", "", kHere},
    Field{"function", &Spec::function, 0, 0, "", "S", kUpstream, "pf|vf|mock"},
    Field{"vf_regions", &Spec::vf_regions, 2, 4096, "", "E", "upstream says: a tighter budget"},
    Field{"memory_domains", &Spec::memory_domains, 1, 64, "", "S",
          "upstream plans more; one is what cards show"},
    Field{"region_policy", &Spec::region_policy, 0, 0, "", "", kHere,
          "first_fit|most_free|least_free"},
    Field{"poison", &Spec::poison, 0, 1, "", "", kHere},
    Field{"memory_gb_per_s", &Spec::memory_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kCostModel},
    Field{"turnaround_ns_per_byte", &Spec::turnaround_ns_per_byte, 0, 1e18,
          "ns per byte of the smaller direction", "M", kCostModel},
    Field{"row_gb_per_s", &Spec::row_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kCostModel},
    Field{"short_row_gb_per_s", &Spec::short_row_gb_per_s, 0, 1e18, "GB/s", "M", kCostModel},
    Field{"row_decay", &Spec::row_decay, kAboveZero, 1e18, "rows", "M", kCostModel},
    Field{"column_gb_per_s", &Spec::column_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kCostModel},
    Field{"relayout_gb_per_s", &Spec::relayout_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kCostModel},
    Field{"broadcast_gb_per_s", &Spec::broadcast_gb_per_s, kAboveZero, 1e18, "GB/s", "M",
          kCostModel},
    Field{"fan_out_limit", &Spec::fan_out_limit, 1, 32, "cores", "S", kCostModel},
    Field{"fan_out_exponent", &Spec::fan_out_exponent, 0, 8, "", "E",
          "our fit to three measured bad splits"},
    Field{"core_clock_ghz", &Spec::core_clock_ghz, kAboveZero, 1e18, "GHz", "S", kDescription},
    Field{"macs_per_ns_core", &Spec::macs_per_ns_core, kAboveZero, 1e18, "MAC/ns per core", "M",
          kCostModel},
    Field{"batched_macs_per_ns_core", &Spec::batched_macs_per_ns_core, kAboveZero, 1e18,
          "MAC/ns per core", "M", kCostModel},
    Field{"projection_macs_per_ns_core", &Spec::projection_macs_per_ns_core, kAboveZero, 1e18,
          "MAC/ns per core", "M", kCostModel},
    Field{"wide_projection_macs_per_ns_core", &Spec::wide_projection_macs_per_ns_core, kAboveZero,
          1e18, "MAC/ns per core", "M", kCostModel},
    Field{"macs_per_cycle_core", &Spec::macs_per_cycle_core, kAboveZero, 1e18, "MAC/cycle (fp16)",
          "S", kDescription},
    Field{"full_array_rows", &Spec::full_array_rows, 1, 1e6, "rows per core", "M", kCostModel},
    Field{"underfill_exponent", &Spec::underfill_exponent, 0, 8, "", "M", kCostModel},
    Field{"partial_sum_ns", &Spec::partial_sum_ns, 0, 1e18, "ns per element and hop", "S",
          "upstream's planner"},
    Field{"batched_partial_sum_ns", &Spec::batched_partial_sum_ns, 0, 1e18,
          "ns per element and hop", "S", "upstream's planner"},
    Field{"lanes_per_core", &Spec::lanes_per_core, 1, 65536, "fp16 lanes", "S", kDescription},
    Field{"ring_gb_per_s", &Spec::ring_gb_per_s, kAboveZero, 1e18, "GB/s", "M",
          "notes of a public fork, disputed by their author"},
    Field{"kernel_fixed_ps", &Spec::kernel_fixed_ps, 0, 1e18, "ps", "M",
          "0 from fits; 3.7 us is an upper bound"},
    Field{"max_core_span", &Spec::max_core_span, 128, 1e18, "B", "S", kUpstream},
    Field{"h2d_gb_per_s", &Spec::h2d_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kSuite},
    Field{"d2h_gb_per_s", &Spec::d2h_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kSuite},
    Field{"h2d_setup_ps", &Spec::h2d_setup_ps, 0, 1e18, "ps", "E", "from 32 KB transfers"},
    Field{"d2h_setup_ps", &Spec::d2h_setup_ps, 0, 1e18, "ps", "E", "from 32 KB transfers"},
    Field{"peer_gb_per_s", &Spec::peer_gb_per_s, kAboveZero, 1e18, "GB/s", "E", kOurs},
    Field{"peer_setup_ps", &Spec::peer_setup_ps, 0, 1e18, "ps", "E", kOurs},
    Field{"convert_gb_per_s", &Spec::convert_gb_per_s, kAboveZero, 1e18, "GB/s", "M", kSuite},
    Field{"large_convert_gb_per_s", &Spec::large_convert_gb_per_s, kAboveZero, 1e18, "GB/s", "M",
          kSuite},
    Field{"large_conversion", &Spec::large_conversion, 0, 1e18, "B", "M", kSuite},
    Field{"host_launch_ps", &Spec::host_launch_ps, 0, 1e18, "ps", "M", "17 to 66 us measured"},
    Field{"host_callback_ps", &Spec::host_callback_ps, 0, 1e18, "ps", "E", kOurs},
    Field{"host_callback_workers", &Spec::host_callback_workers, 1, 8, "", "S", kUpstream},
    Field{"correction_depth", &Spec::correction_depth, 1, 8, "launches", "S",
          "upstream has one buffer; more are proposed there"},
    Field{"submit_latency_ps", &Spec::submit_latency_ps, 0, 1e18, "ps", "E", kOurs},
    Field{"host_enqueue_ps", &Spec::host_enqueue_ps, 0, 1e18, "ps", "M",
          "launching a control block takes 1 to 2 us"},
    Field{"host_sync_ps", &Spec::host_sync_ps, 0, 1e18, "ps", "E", kOurs},
    Field{"idle_watts", &Spec::idle_watts, 0, 1e18, "W", "M", "one sample of a light load"},
    Field{"cap_watts", &Spec::cap_watts, kAboveZero, 1e18, "W", "S", kUpstream},
    Field{"mac_pj", &Spec::mac_pj, 0, 1e18, "pJ (fp16)", "E",
          "solved so that full load reaches the cap"},
    Field{"memory_pj_per_byte", &Spec::memory_pj_per_byte, 0, 1e18, "pJ/B", "E",
          "4.5 pJ/bit, the class of LPDDR5"},
};

DeviceSpec datasheet() {
  DeviceSpec spec;
  spec.profile = "datasheet";
  spec.memory_gb_per_s = 204.8;
  spec.turnaround_ns_per_byte = 0;
  spec.core_clock_ghz = 1.5;
  spec.macs_per_ns_core = 1536;
  spec.ring_gb_per_s = 166.4;
  spec.h2d_gb_per_s = spec.d2h_gb_per_s = 55;
  spec.convert_gb_per_s = spec.large_convert_gb_per_s = 1e9;  // free
  return spec;
}

std::string as_json(const DeviceSpec& spec, const Field& field) {
  return std::visit(
      [&]<class T>(T DeviceSpec::* member) {
        if constexpr (std::is_same_v<T, Bytes>) return nlohmann::json((spec.*member).count).dump();
        else return nlohmann::json(spec.*member).dump();
      },
      field.member);
}

}  // namespace

std::span<const Field> fields() { return kFields; }

bool is_device_profile(std::string_view name) {
  return name == "calibrated" || name == "datasheet";
}

DeviceSpec device_profile(std::string_view name) {
  if (name == "calibrated") return {};
  if (name == "datasheet") return datasheet();
  throw InvalidArgument(
      str("card: no profile \"", name, "\"; expected \"calibrated\" or \"datasheet\""));
}

std::vector<DeviceParameter> device_parameters() {
  const DeviceSpec calibrated, sheet = datasheet();
  std::vector<DeviceParameter> rows;
  for (const Field& field : kFields)
    rows.push_back({.name = field.name,
                    .unit = field.unit,
                    .calibrated = as_json(calibrated, field),
                    .datasheet = as_json(sheet, field),
                    .mark = field.mark,
                    .source = field.source});
  return rows;
}

}  // namespace spyre::device_sim
