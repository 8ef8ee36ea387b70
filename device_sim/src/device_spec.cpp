// spyre/device_sim/device_spec.cpp — fields by name, JSON overrides, environment overrides.
#include "spyre/device_sim/device_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "device_parameters.h"
#include "spyre/base/env.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

using Json = nlohmann::ordered_json;

std::string known_keys() {
  std::string names;
  for (const Field& field : fields()) names.append(names.empty() ? "" : ", ").append(field.name);
  return names;
}

const Field& field_named(std::string_view key, std::string_view origin) {
  for (const Field& field : fields()) {
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

std::string text_of(const Field& field, const Json& value, std::string_view origin) {
  if (!value.is_string()) reject(field, value, "a string", origin);
  std::string text = value.get<std::string>();
  const std::string listed = str('|', field.choices, '|');
  if (!field.choices.empty() && listed.find(str('|', text, '|')) == std::string::npos)
    reject(field, value, str("one of ", field.choices), origin);
  return text;
}

void assign(DeviceSpec& spec, const Field& field, const Json& value, std::string_view origin) {
  std::visit(
      [&]<class T>(T DeviceSpec::* member) {
        if constexpr (std::is_same_v<T, std::string>) {
          spec.*member = text_of(field, value, origin);
        } else if constexpr (std::is_same_v<T, Bytes>) {
          spec.*member = {number_of<std::uint64_t>(field, value, origin)};
        } else {
          spec.*member = number_of<T>(field, value, origin);
        }
      },
      field.member);
}

DeviceSpec named_spec(const std::string& path) {
  if (is_device_profile(path)) return device_profile(path);
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) reject_env_value(Env::DeviceSpec, path, "cannot read the file");
  return with_json_overrides({}, text.str(), path);
}

/// A number from 0 to 1.
double share_of(Env variable) {
  const std::string text = env_text(variable);
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc{} || end != text.data() + text.size() || !(share >= 0 && share <= 1))
    reject_env_value(variable, text, "not a share");
  return share;
}

}  // namespace

Bytes usable_scratchpad(Bytes whole, double kept_free) {
  constexpr Bytes kPrograms = 64_KiB;
  const auto left = static_cast<double>(whole.count - std::min(whole, kPrograms).count);
  return Bytes{static_cast<std::uint64_t>(left * (1 - kept_free))}.rounded_up(128_B);
}

std::string to_json(const DeviceSpec& spec) {
  Json object;
  for (const Field& field : fields()) {
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
  const auto profile = object.find("profile");
  if (profile != object.end() && profile->is_string() && *profile != base.profile &&
      is_device_profile(profile->get<std::string>()))
    base = device_profile(profile->get<std::string>());
  for (const auto& [key, value] : object.items())
    assign(base, field_named(key, origin), value, origin);
  return base;
}

DeviceSpec device_spec_from_environment() {
  const std::string path = env_text(Env::DeviceSpec);
  DeviceSpec spec = path.empty() ? DeviceSpec{} : named_spec(path);
  if (env_is_set(Env::Cores)) spec.cores = static_cast<int>(env_integer(Env::Cores));
  if (env_is_set(Env::Threads)) spec.host_threads = static_cast<int>(env_integer(Env::Threads));
  if (env_is_set(Env::WorldSize))
    spec.machine_cards = static_cast<int>(env_integer(Env::WorldSize));
  if (env_is_set(Env::DeviceMemory)) spec.capacity = env_size(Env::DeviceMemory);
  if (env_is_set(Env::DeviceFunction))
    spec.function = std::array{"pf", "vf", "mock"}[env_choice(Env::DeviceFunction)];
  if (env_is_set(Env::Clock))
    spec.clock = std::array{"virtual", "anchored", "realtime", "off"}[env_choice(Env::Clock)];
  if (env_is_set(Env::Poison)) spec.poison = env_switch(Env::Poison) ? 1 : 0;
  if (env_is_set(Env::LxPlanning)) spec.scratchpad_planning = env_switch(Env::LxPlanning) ? 1 : 0;
  if (env_is_set(Env::LxFraction))
    spec.scratchpad_usable = usable_scratchpad(spec.scratchpad, share_of(Env::LxFraction));
  if (env_is_set(Env::HostStreams))
    spec.host_callback_workers = static_cast<int>(env_integer(Env::HostStreams));
  if (env_is_set(Env::CorrectionDepth))
    spec.correction_depth = static_cast<int>(env_integer(Env::CorrectionDepth));
  return spec;
}

}  // namespace spyre::device_sim
