// spyre/device_sim/device_spec_test.cpp — overrides apply in order, and mistakes are named.
#include "spyre/device_sim/device_spec.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

std::string rejection(std::string_view json) {
  try {
    with_json_overrides({}, json, "card.json");
  } catch (const InvalidArgument& error) { return error.what(); }
  return "accepted";
}

TEST(DeviceSpec, JsonReplacesOnlyItsKeys) {
  const DeviceSpec spec =
      with_json_overrides({}, R"({"cores": 8, "profile": "calibrated", "capacity": 1048576,
                                                      "memory_gb_per_s": 204.8})",
                          "card.json");
  EXPECT_EQ(spec.cores, 8);
  EXPECT_EQ(spec.profile, "calibrated");
  EXPECT_EQ(spec.capacity, 1_MiB);
  EXPECT_EQ(spec.memory_gb_per_s, 204.8);
  EXPECT_EQ(spec.lanes_per_core, DeviceSpec{}.lanes_per_core);
}

TEST(DeviceSpec, RoundTripsThroughJson) {
  DeviceSpec spec;
  spec.cores = 7;
  spec.h2d_setup_ps = 12345;
  EXPECT_EQ(to_json(with_json_overrides({}, to_json(spec), "itself")), to_json(spec));
}

TEST(DeviceSpec, MistakesAreNamed) {
  const std::string unknown = rejection(R"({"core": 8})");
  EXPECT_NE(unknown.find("card.json: unknown key \"core\""), unknown.npos) << unknown;
  EXPECT_NE(unknown.find("memory_gb_per_s"), unknown.npos) << "lists the keys: " << unknown;
  EXPECT_EQ(rejection(R"({"cores": 33})"),
            "card.json: bad value of \"cores\"; got 33; expected an integer from 1 to 32");
  for (const char* bad : {"", "[1]", "{", R"({"cores": "8"})", R"({"cores": 1.5})",
                          R"({"memory_gb_per_s": 0})", R"({"capacity": -1})", R"({"profile": 3})",
                          R"({"profile": "small"})", R"({"cores": {"n": 1}})"}) {
    EXPECT_NE(rejection(bad), "accepted") << bad;
  }
}

TEST(DeviceSpec, EnvironmentWinsOverTheFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "device_spec_test.json";
  std::ofstream(path) << R"({"cores": 8, "host_threads": 3})";
  setenv("SPYRE_DEVICE_SPEC", path.c_str(), 1);
  setenv("SENCORES", "7", 1);
  const DeviceSpec spec = device_spec_from_environment();
  unsetenv("SPYRE_DEVICE_SPEC");
  unsetenv("SENCORES");
  std::filesystem::remove(path);
  EXPECT_EQ(spec.cores, 7);
  EXPECT_EQ(spec.host_threads, 3);
}

TEST(DeviceSpec, UpstreamsVariablesSetFields) {
  const std::pair<const char*, const char*> given[] = {
      {"LX_PLANNING", "0"},
      {"DXP_LX_FRAC_AVAIL", "0.5"},
      {"TORCH_SPYRE_NUM_HOST_COMPUTE_STREAMS", "2"},
      {"SPYRE_CORRECTION_ARENA_DEPTH", "3"}};
  for (const auto& [name, value] : given) setenv(name, value, 1);
  const DeviceSpec spec = device_spec_from_environment();
  setenv("DXP_LX_FRAC_AVAIL", "1.5", 1);
  EXPECT_THROW(device_spec_from_environment(), InvalidArgument);
  for (const auto& [name, value] : given) unsetenv(name);
  EXPECT_EQ(spec.scratchpad_planning, 0);
  EXPECT_EQ(spec.scratchpad_usable, usable_scratchpad(2_MiB, 0.5));
  EXPECT_EQ(spec.host_callback_workers, 2);
  EXPECT_EQ(spec.correction_depth, 3);
}

TEST(DeviceSpec, TheUsableScratchpadFollowsUpstreamsFormula) {
  EXPECT_EQ(usable_scratchpad(2_MiB, 0.2), DeviceSpec{}.scratchpad_usable);
  EXPECT_EQ(usable_scratchpad(64_KiB, 0), 0_B);
  EXPECT_EQ(usable_scratchpad(2_MiB, 1), 0_B);
}

TEST(DeviceSpec, AProfileIsABase) {
  EXPECT_EQ(device_profile("datasheet").memory_gb_per_s, 204.8);
  EXPECT_EQ(to_json(device_profile("calibrated")), to_json({}));
  EXPECT_THROW(device_profile("small"), InvalidArgument);
  const DeviceSpec spec =
      with_json_overrides({}, R"({"cores": 8, "profile": "datasheet"})", "card.json");
  EXPECT_EQ(spec.cores, 8);
  EXPECT_EQ(spec.macs_per_ns_core, 1536);
  setenv("SPYRE_DEVICE_SPEC", "datasheet", 1);
  EXPECT_EQ(to_json(device_spec_from_environment()), to_json(device_profile("datasheet")));
  unsetenv("SPYRE_DEVICE_SPEC");
}

TEST(DeviceSpec, EveryParameterSaysWhereItComesFrom) {
  for (const DeviceParameter& row : device_parameters()) {
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_FALSE(row.calibrated.empty() || row.datasheet.empty()) << row.name;
    const bool fixed = row.calibrated == row.datasheet || row.name == "profile";
    EXPECT_TRUE(fixed || !row.mark.empty()) << row.name;
  }
}

TEST(DeviceSpec, MissingFileIsNamed) {
  setenv("SPYRE_DEVICE_SPEC", "/nowhere/card.json", 1);
  EXPECT_THROW(device_spec_from_environment(), InvalidArgument);
  unsetenv("SPYRE_DEVICE_SPEC");
}

}  // namespace
}  // namespace spyre::device_sim
