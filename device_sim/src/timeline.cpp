// spyre/device_sim/timeline.cpp — rows to Chrome trace events.
//
// Process 1 shows the modelled card, process 2 what this host really did. Lanes are threads of
// these processes: the host, then one per pipeline. Times are printed from integers, so equal
// programs print equal bytes.
#include "timeline.h"

#include <nlohmann/json.hpp>

#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr unsigned kModelled = 1, kWall = 2, kHostLane = 0;
constexpr int kSchemaVersion = 1;

unsigned lane_of(PipelineId pipeline) { return static_cast<unsigned>(pipeline) + 1; }

std::string name_of_operation(const Flight& flight) {
  return std::string(flight.operation.name.empty() ? name_of(flight.pipeline)
                                                   : flight.operation.name);
}

std::uint64_t bytes_of(const Operation& operation) {
  if (const auto* upload = std::get_if<HostToDevice>(&operation.what))
    return upload->target.length.count;
  if (const auto* download = std::get_if<DeviceToHost>(&operation.what))
    return download->source.length.count;
  return operation.work.bytes_read + operation.work.bytes_written;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Chrome wants microseconds: "12.000345".
std::string microseconds(std::uint64_t ps) {
  const std::string digits = std::to_string(ps % 1'000'000);
  return str(ps / 1'000'000, '.', std::string(6 - digits.size(), '0'), digits);
}

void print_names(std::string& out, unsigned process, std::string_view name) {
  out += str("{\"ph\":\"M\",\"pid\":", process,
             ",\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"", name, "\"}},\n");
  const auto print_lane = [&](unsigned lane, std::string_view lane_name) {
    out += str("{\"ph\":\"M\",\"pid\":", process, ",\"tid\":", lane,
               ",\"name\":\"thread_name\",\"args\":{\"name\":\"", lane_name, "\"}},\n");
  };
  if (process == kModelled) print_lane(kHostLane, "host");
  for (std::size_t i = 0; i < kPipelineCount; ++i) {
    const auto pipeline = static_cast<PipelineId>(i);
    if (pipeline != PipelineId::Join) print_lane(lane_of(pipeline), name_of(pipeline));
  }
}

}  // namespace

void Timeline::Rows::add(Row row) {
  if (kept.size() == kRows) {
    kept.pop_front();
    ++dropped;
  }
  kept.push_back(std::move(row));
}

void Timeline::record(bool on) {
  if (on && !on_) {
    modelled_ = wall_ = {};
    origin_ = WallSpan::Clock::now();
  }
  on_ = on;
}

void Timeline::add_modelled(const Flight& flight) {
  if (flight.pipeline == PipelineId::Join) return;
  const ModelledSpan& span = flight.modelled;
  Row row{.name = name_of_operation(flight),
          .lane = kHostLane,
          .point = flight.point,
          .correlation = flight.operation.correlation,
          .bytes = bytes_of(flight.operation),
          .start_ps = span.submit.count,
          .length_ps = (span.submitted - span.submit).count};
  modelled_.add(row);
  row.lane = lane_of(flight.pipeline);
  row.start_ps = span.start.count;
  row.length_ps = (span.end - span.start).count;
  modelled_.add(std::move(row));
}

void Timeline::add_wall(const Flight& flight, std::string name, WallSpan span) {
  if (span.from < origin_) return;  // began before the recording did
  const auto ps = [](WallSpan::Clock::duration d) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(d).count()) * 1000;
  };
  if (name.empty()) name = name_of(flight.pipeline);
  wall_.add({.name = std::move(name),
             .lane = lane_of(flight.pipeline),
             .point = flight.point,
             .correlation = flight.operation.correlation,
             .bytes = bytes_of(flight.operation),
             .start_ps = ps(span.from - origin_),
             .length_ps = ps(span.to - span.from)});
}

void Timeline::print(std::string& out, const Rows& rows, unsigned process) const {
  for (const Row& row : rows.kept) {
    out += str("{\"ph\":\"X\",\"pid\":", process, ",\"tid\":", row.lane,
               ",\"ts\":", microseconds(row.start_ps), ",\"dur\":", microseconds(row.length_ps),
               ",\"name\":", quoted(row.name), ",\"args\":{\"stream\":", row.point.stream,
               ",\"sequence\":", row.point.sequence, ",\"correlation\":", row.correlation,
               ",\"bytes\":", row.bytes, "}},\n");
  }
}

std::string Timeline::json(std::string_view profile) const {
  std::string out = "{\"traceEvents\":[\n";
  print_names(out, kModelled, "modelled card");
  print(out, modelled_, kModelled);
  print_names(out, kWall, "this host");
  print(out, wall_, kWall);
  out.erase(out.size() - 2);  // the last comma
  out += str(
      "\n],\n\"schema_version\":", kSchemaVersion, ",\"profile\":", quoted(std::string(profile)),
      ",\"dropped_modelled\":", modelled_.dropped, ",\"dropped_wall\":", wall_.dropped, "}\n");
  return out;
}

}  // namespace spyre::device_sim
