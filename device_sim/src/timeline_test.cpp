// spyre/device_sim/timeline_test.cpp — valid JSON, the right lanes, a bounded number of rows.
#include "timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "test_programs.h"

namespace spyre::device_sim {
namespace {

nlohmann::json parsed(const Card& card) { return nlohmann::json::parse(card.timeline_json()); }

TEST(Timeline, RowsOfBothTimes) {
  Card card(small_spec());
  card.record_timeline(true);
  const Piece piece = card.allocate(4_KiB).place;
  std::vector<int> numbers(1000);
  Operation operation = upload(numbers, piece);
  operation.name = "odd \"name\"\n";
  operation.correlation = 77;
  card.enqueue(StreamId{0}, std::move(operation), Urgency::Waited);
  card.enqueue(StreamId{0}, compute_once([] {}), Urgency::Waited);
  card.synchronize_all();

  const nlohmann::json trace = parsed(card);
  std::set<std::pair<int, int>> rows;  // process, lane
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    rows.emplace(event["pid"], event["tid"]);
    if (event["tid"] == 1) {
      EXPECT_EQ(event["name"], "odd \"name\"\n");
      EXPECT_EQ(event["args"]["correlation"], 77);
      EXPECT_EQ(event["args"]["bytes"], 4000);
    }
  }
  EXPECT_EQ(rows, (std::set<std::pair<int, int>>{{1, 0}, {1, 1}, {1, 3}, {2, 1}, {2, 3}}));
  EXPECT_EQ(trace["profile"], "calibrated");
}

TEST(Timeline, OffRecordsNothing) {
  Card card(small_spec());
  card.enqueue(StreamId{0}, compute_once([] {}), Urgency::Waited);
  card.synchronize_all();
  const nlohmann::json trace = parsed(card);
  for (const nlohmann::json& event : trace["traceEvents"]) EXPECT_EQ(event["ph"], "M");
}

TEST(Timeline, KeepsTheLatestRowsAndCountsTheRest) {
  const DeviceSpec spec;
  Timeline timeline;
  timeline.record(true, Clock(spec));
  Flight flight;
  flight.operation.what = HostCallback{};
  flight.pipeline = PipelineId::Callback;
  for (std::size_t i = 0; i < RunLog::kEntries + 5; ++i) {
    flight.point.sequence = i + 1;
    timeline.add_submission(flight, {}, {});
  }
  const nlohmann::json trace = nlohmann::json::parse(timeline.json(spec, {}));
  EXPECT_EQ(trace["dropped_modelled"], 5);
  std::size_t rows = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) rows += event["ph"] == "X" ? 1 : 0;
  EXPECT_EQ(rows, 2 * RunLog::kEntries) << "the host's and the pipeline's";
}

TEST(Timeline, RecordingAgainStartsAfresh) {
  const DeviceSpec spec;
  const Clock clock(spec);
  Timeline timeline;
  timeline.record(true, clock);
  timeline.add_submission(Flight{}, {}, {});
  timeline.record(false, clock);
  EXPECT_NE(timeline.json(spec, {}).find("\"X\""), std::string::npos) << "readable when off";
  timeline.record(true, clock);
  EXPECT_EQ(timeline.json(spec, {}).find("\"X\""), std::string::npos);
}

/// A copy on one stream that a kernel on another one waits for.
Card& run_joined(Card& card) {
  card.record_timeline(true);
  const StreamId other = card.create_stream();
  const Piece piece = card.allocate(4_MiB).place;
  const std::vector<int> numbers(1 << 20);
  card.wait_for(other, card.enqueue(kDefault, upload(numbers, piece), Urgency::Waited));
  card.enqueue(other, compute(1, [](auto, auto, Core&) {}, kLargeWork), Urgency::Waited);
  card.synchronize_all();
  return card;
}

TEST(Timeline, ArrowsLeadFromCallsAndEvents) {
  Card card(small_spec());
  const nlohmann::json trace = parsed(run_joined(card));
  std::map<int, std::pair<nlohmann::json, nlohmann::json>> arrows;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") arrows[event["id"]].first = event;
    if (event["ph"] == "f") arrows[event["id"]].second = event;
  }
  ASSERT_EQ(arrows.size(), 3U) << "two launches and an event";
  int events = 0;
  for (const auto& [id, arrow] : arrows) {
    EXPECT_LE(arrow.first["ts"], arrow.second["ts"]);
    if (arrow.first["name"] != "event") continue;
    ++events;
    EXPECT_EQ(arrow.first["tid"], 1) << "from the H2D lane";
    EXPECT_EQ(arrow.second["tid"], 3) << "to the compute lane";
    EXPECT_EQ(arrow.first["ts"], arrow.second["ts"]);
  }
  EXPECT_EQ(events, 1);
}

TEST(Timeline, CountersRiseAndFall) {
  Card card(small_spec());
  std::map<std::string, std::vector<double>> values;
  const nlohmann::json trace = parsed(run_joined(card));
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == "C") values[event["name"]].push_back(event["args"]["value"]);
  ASSERT_EQ(values["LPDDR5 GB/s"].size(), 2U);
  EXPECT_NEAR(values["LPDDR5 GB/s"][0], 105, 1) << "a balanced copy";
  EXPECT_EQ(values["LPDDR5 GB/s"][1], 0);
  EXPECT_EQ(values["PCIe to card GB/s"].size(), 2U);
}

TEST(Timeline, CoresHaveLanesOnRequest) {
  Card card(small_spec(8));
  run_joined(card);
  std::set<int> lanes;
  const auto trace = nlohmann::json::parse(card.timeline_json({.core_lanes = true}));
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == 1) lanes.insert(event["tid"].get<int>());
  EXPECT_EQ(lanes, (std::set<int>{0, 1, 3, 100, 101, 102, 103, 104, 105, 106, 107}));
  EXPECT_EQ(trace["device"]["cores"], 8);
  EXPECT_EQ(trace["schema_version"], 2);
}

}  // namespace
}  // namespace spyre::device_sim
