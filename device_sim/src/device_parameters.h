// spyre/device_sim/device_parameters.h — one row per field of DeviceSpec: range, unit, source.
#pragma once
#include <span>
#include <string_view>
#include <variant>

#include "spyre/device_sim/device_spec.h"

namespace spyre::device_sim {

struct Field {
  using Member = std::variant<std::string DeviceSpec::*, int DeviceSpec::*, double DeviceSpec::*,
                              Bytes DeviceSpec::*, std::uint64_t DeviceSpec::*>;
  std::string_view name;
  Member member;
  double low = 0, high = 1e18;  // of numbers
  std::string_view unit = "", mark = "", source = "";
  std::string_view choices = "";  // of texts, separated by |; empty: any
};

std::span<const Field> fields();

}  // namespace spyre::device_sim
