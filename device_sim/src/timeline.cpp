// spyre/device_sim/timeline.cpp — bounded records; printing is trace_json.cpp's and report.cpp's.
#include "timeline.h"

#include <utility>

#include "report.h"
#include "trace_json.h"

namespace spyre::device_sim {
namespace {

std::string name_of_operation(const Flight& flight) {
  const std::string_view name = flight.operation.name;
  return std::string(name.empty() ? name_of(flight.pipeline) : name);
}

}  // namespace

std::uint64_t picoseconds_of(WallSpan::Clock::duration duration) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count()) * 1000;
}

std::uint64_t bytes_moved_by(const Operation& operation) {
  const Charge charge = charge_of(operation);
  if (charge.pipeline != PipelineId::Compute) return charge.bytes;
  return charge.work.bytes_read + charge.work.bytes_written;
}

void Timeline::record(bool on, const Clock& clock) {
  if (on && !on_) {
    log_.emplace(clock);
    wall_.clear();
    wall_dropped_ = 0;
    origin_ = WallSpan::Clock::now();
  }
  on_ = on;
}

void Timeline::add_submission(const Flight& flight, Picoseconds after_peer, Picoseconds wall) {
  const bool join = flight.pipeline == PipelineId::Join;
  log_->add({.kind = join ? RunEntry::Kind::Join : RunEntry::Kind::Submit,
             .point = flight.point,
             .after = flight.operation.after,
             .after_peer = after_peer,
             .charge = charge_of(flight.operation),
             .barrier = flight.operation.barrier,
             .name = name_of_operation(flight),
             .correlation = flight.operation.correlation,
             .wall = wall});
}

void Timeline::add_wait(RunEntry::Kind kind, TimelinePoint point, Picoseconds wall) {
  log_->add({.kind = kind, .point = point, .wall = wall});
}

void Timeline::add_wall(const Flight& flight, std::string name, WallSpan span) {
  if (span.from < origin_) return;  // began before the recording did
  if (name.empty()) name = name_of(flight.pipeline);
  if (wall_.size() == kWallRows) {
    wall_.pop_front();
    ++wall_dropped_;
  }
  wall_.push_back({.name = std::move(name),
                   .pipeline = flight.pipeline,
                   .point = flight.point,
                   .correlation = flight.operation.correlation,
                   .bytes = bytes_moved_by(flight.operation),
                   .start_ps = picoseconds_of(span.from - origin_),
                   .length_ps = picoseconds_of(span.to - span.from)});
}

std::string Timeline::json(const DeviceSpec& spec, const TraceOptions& options) const {
  const ModelledRun run = log_ ? log_->priced(spec) : ModelledRun{};
  return trace_json(run, wall_, wall_dropped_, spec, options);
}

std::string Timeline::report(const DeviceSpec& spec) const {
  return report_json(log_ ? log_->priced(spec) : ModelledRun{}, spec);
}

}  // namespace spyre::device_sim
