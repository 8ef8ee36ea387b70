// spyre/device_sim/device_spec.cpp — fields by name, JSON overrides, environment overrides.
//
// Sources of the defaults (the "calibrated" profile): [S] stated, [M] measured on a card, [E] our
// estimate.
//   cores 32, scratchpad 2 MiB, 128-byte blocks, 8 regions: upstream's documents [S]
//   usable scratchpad (2 MiB - 64 KiB) x 0.8 [E]
//   memory 150 GB/s, turnaround 0.00574 ns/B: upstream's cost model [M]
//   column 113, relayout 116, broadcast 118 GB/s, 1140 MAC/ns/core: the same [M]
//   1.1 GHz, 128 fp16 lanes: the compiler's device description [S]
//   H2D 30 GB/s, D2H 40 GB/s, set-up 3 and 2 us: public performance-suite runs [M]
//   launch 30 us (17-66 measured), enqueue 2 us (launching a control block takes 1-2) [M]
//   host callback, submit latency, synchronize [E]
#include "spyre/device_sim/device_spec.h"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "spyre/base/env.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

using Json = nlohmann::ordered_json;

using Member = std::variant<std::string DeviceSpec::*, int DeviceSpec::*, double DeviceSpec::*,
                            Bytes DeviceSpec::*, std::uint64_t DeviceSpec::*>;

struct Field {
  std::string_view name;
  Member member;
  double low = 0, high = 1e18;  // of numbers
};

constexpr double kAboveZero = 1e-9;

constexpr std::array kFields{
    Field{"profile", &DeviceSpec::profile},
    Field{"cores", &DeviceSpec::cores, 1, 32},
    Field{"host_threads", &DeviceSpec::host_threads, 0, 1024},
    Field{"scratchpad", &DeviceSpec::scratchpad, 65536, 1 << 30},
    Field{"scratchpad_usable", &DeviceSpec::scratchpad_usable, 0, 1 << 30},
    Field{"capacity", &DeviceSpec::capacity},
    Field{"regions", &DeviceSpec::regions, 1, 4096},
    Field{"min_region", &DeviceSpec::min_region},
    Field{"memory_gb_per_s", &DeviceSpec::memory_gb_per_s, kAboveZero},
    Field{"turnaround_ns_per_byte", &DeviceSpec::turnaround_ns_per_byte},
    Field{"column_gb_per_s", &DeviceSpec::column_gb_per_s, kAboveZero},
    Field{"relayout_gb_per_s", &DeviceSpec::relayout_gb_per_s, kAboveZero},
    Field{"broadcast_gb_per_s", &DeviceSpec::broadcast_gb_per_s, kAboveZero},
    Field{"macs_per_ns_core", &DeviceSpec::macs_per_ns_core, kAboveZero},
    Field{"core_clock_ghz", &DeviceSpec::core_clock_ghz, kAboveZero},
    Field{"lanes_per_core", &DeviceSpec::lanes_per_core, 1, 65536},
    Field{"h2d_gb_per_s", &DeviceSpec::h2d_gb_per_s, kAboveZero},
    Field{"d2h_gb_per_s", &DeviceSpec::d2h_gb_per_s, kAboveZero},
    Field{"h2d_setup_ps", &DeviceSpec::h2d_setup_ps},
    Field{"d2h_setup_ps", &DeviceSpec::d2h_setup_ps},
    Field{"host_launch_ps", &DeviceSpec::host_launch_ps},
    Field{"host_callback_ps", &DeviceSpec::host_callback_ps},
    Field{"submit_latency_ps", &DeviceSpec::submit_latency_ps},
    Field{"host_enqueue_ps", &DeviceSpec::host_enqueue_ps},
    Field{"host_sync_ps", &DeviceSpec::host_sync_ps},
};

std::string known_keys() {
  std::string names;
  for (const Field& field : kFields) names.append(names.empty() ? "" : ", ").append(field.name);
  return names;
}

const Field& field_named(std::string_view key, std::string_view origin) {
  for (const Field& field : kFields) {
    if (field.name == key) return field;
  }
  throw InvalidArgument(str(origin, ": unknown key \"", key, "\"; expected one of ", known_keys()));
}

[[noreturn]] void reject(const Field& field, const Json& value, std::string_view expected,
                         std::string_view origin) {
  throw InvalidArgument(str(origin, ": bad value of \"", field.name, "\"; got ", value.dump(),
                            "; expected ", expected));
}

template <class Number>
Number number_of(const Field& field, const Json& value, std::string_view origin) {
  const bool fits =
      std::is_floating_point_v<Number> ? value.is_number() : value.is_number_integer();
  const std::string expected = str(std::is_floating_point_v<Number> ? "a number" : "an integer",
                                   " from ", field.low, " to ", field.high);
  if (!fits || value.get<double>() < field.low || value.get<double>() > field.high)
    reject(field, value, expected, origin);
  return value.get<Number>();
}

void assign(DeviceSpec& spec, const Field& field, const Json& value, std::string_view origin) {
  std::visit(
      [&]<class T>(T DeviceSpec::* member) {
        if constexpr (std::is_same_v<T, std::string>) {
          if (!value.is_string()) reject(field, value, "a string", origin);
          spec.*member = value.get<std::string>();
        } else if constexpr (std::is_same_v<T, Bytes>) {
          spec.*member = {number_of<std::uint64_t>(field, value, origin)};
        } else {
          spec.*member = number_of<T>(field, value, origin);
        }
      },
      field.member);
}

DeviceSpec spec_from_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) reject_env_value(Env::DeviceSpec, path, "cannot read the file");
  return with_json_overrides({}, text.str(), path);
}

}  // namespace

std::string to_json(const DeviceSpec& spec) {
  Json object;
  for (const Field& field : kFields) {
    std::visit(
        [&]<class T>(T DeviceSpec::* member) {
          Json& value = object[std::string(field.name)];
          if constexpr (std::is_same_v<T, Bytes>) {
            value = (spec.*member).count;
          } else {
            value = spec.*member;
          }
        },
        field.member);
  }
  return object.dump(2);
}

DeviceSpec with_json_overrides(DeviceSpec base, std::string_view json, std::string_view origin) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object())
    throw InvalidArgument(str(origin, ": not a JSON object; expected for example {\"cores\": 8}"));
  for (const auto& [key, value] : object.items())
    assign(base, field_named(key, origin), value, origin);
  return base;
}

DeviceSpec device_spec_from_environment() {
  const std::string path = env_text(Env::DeviceSpec);
  DeviceSpec spec = path.empty() ? DeviceSpec{} : spec_from_file(path);
  if (env_is_set(Env::Cores)) spec.cores = static_cast<int>(env_integer(Env::Cores));
  if (env_is_set(Env::Threads)) spec.host_threads = static_cast<int>(env_integer(Env::Threads));
  if (env_is_set(Env::DeviceMemory)) spec.capacity = env_size(Env::DeviceMemory);
  return spec;
}

}  // namespace spyre::device_sim
