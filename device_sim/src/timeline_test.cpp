// spyre/device_sim/timeline_test.cpp — valid JSON, the right lanes, a bounded number of rows.
#include "timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test_programs.h"

namespace spyre::device_sim {
namespace {

nlohmann::json parsed(const Card& card) { return nlohmann::json::parse(card.timeline_json()); }

TEST(Timeline, RowsOfBothTimes) {
  Card card(small_spec());
  card.record_timeline(true);
  const Piece piece = card.allocate(4_KiB).pieces[0];
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
  Timeline timeline;
  timeline.record(true);
  Flight flight;
  for (std::size_t i = 0; i < Timeline::kRows; ++i) {  // two modelled rows each
    flight.point.sequence = i;
    timeline.add_modelled(flight);
  }
  const nlohmann::json trace = nlohmann::json::parse(timeline.json("x"));
  EXPECT_EQ(trace["dropped_modelled"], Timeline::kRows);
  EXPECT_EQ(trace["traceEvents"].back()["ph"], "M") << "no wall rows";
  std::size_t rows = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) rows += event["ph"] == "X" ? 1 : 0;
  EXPECT_EQ(rows, Timeline::kRows);
}

TEST(Timeline, RecordingAgainStartsAfresh) {
  Timeline timeline;
  timeline.record(true);
  timeline.add_modelled(Flight{});
  timeline.record(false);
  EXPECT_NE(timeline.json("x").find("\"X\""), std::string::npos) << "still readable when off";
  timeline.record(true);
  EXPECT_EQ(timeline.json("x").find("\"X\""), std::string::npos);
}

}  // namespace
}  // namespace spyre::device_sim
