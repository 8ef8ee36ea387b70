// spyre/device_sim/activity_log.cpp — flights as activities.
#include "activity_log.h"

#include <unistd.h>

#include <iterator>
#include <utility>

namespace spyre::device_sim {
namespace {

Activity::Kind kind_of(const Flight& flight) {
  const auto& what = flight.operation.what;
  if (std::holds_alternative<Send>(what)) return Activity::Kind::Send;
  if (std::holds_alternative<Receive>(what)) return Activity::Kind::Receive;
  switch (flight.pipeline) {
    case PipelineId::HostToDevice: return Activity::Kind::HostToDevice;
    case PipelineId::DeviceToHost: return Activity::Kind::DeviceToHost;
    case PipelineId::Compute:
      return std::get<Compute>(what).program->fills() ? Activity::Kind::Fill
                                                      : Activity::Kind::Kernel;
    case PipelineId::Callback:
    case PipelineId::Join: break;
  }
  return std::get<HostCallback>(what).fills ? Activity::Kind::Fill : Activity::Kind::Callback;
}

Hash128 program_of(const Operation& operation) {
  const auto* compute = std::get_if<Compute>(&operation.what);
  return compute != nullptr ? compute->program->identity() : Hash128{};
}

}  // namespace

void ActivityLog::begin(CallerName caller, Picoseconds host) {
  on_ = true;
  caller_ = std::move(caller);
  activities_.clear();
  record_ = {.begin_ps = host.count, .begin = WallSpan::Clock::now()};
}

ActivityRecord ActivityLog::take() {
  on_ = false;
  caller_ = nullptr;
  record_.activities.assign(std::make_move_iterator(activities_.begin()),
                            std::make_move_iterator(activities_.end()));
  activities_.clear();
  return std::exchange(record_, {});
}

std::uint32_t ActivityLog::step_of(const Flight& flight) {
  if (flight.pipeline != PipelineId::Compute) return 0;
  const TimelinePoint launch{.stream = flight.point.stream,
                             .sequence = flight.operation.correlation};
  if (launch_ != launch || launch.sequence == 0) {
    launch_ = launch;
    steps_ = 0;
  }
  return steps_++;
}

void ActivityLog::add(const Flight& flight, WallSpan call) {
  const Operation& operation = flight.operation;
  if (flight.pipeline == PipelineId::Join || std::holds_alternative<PostReceive>(operation.what))
    return;
  keep({.kind = kind_of(flight),
        .name = std::string(operation.name),
        .program = program_of(operation),
        .stream = flight.point.stream,
        .correlation = operation.correlation,
        .step = step_of(flight),
        .source = operation.source,
        .bytes = bytes_moved_by(operation),
        .queued_ps = flight.modelled.submit.count,
        .submitted_ps = flight.modelled.submitted.count,
        .start_ps = flight.modelled.start.count,
        .end_ps = flight.modelled.end.count},
       call);
}

void ActivityLog::add_wait(StreamId stream, WallSpan call) {
  keep({.kind = Activity::Kind::Wait, .name = "synchronize", .stream = stream}, call);
}

void ActivityLog::keep(Activity activity, WallSpan call) {
  if (call.from < record_.begin) return;  // began before the recording did
  activity.caller = caller_ ? caller_() : 0;
  activity.called = call.from;
  activity.returned = call.to;
  activity.thread = static_cast<std::int32_t>(gettid());
  if (activities_.size() == kActivities) {
    activities_.pop_front();
    ++record_.dropped;
  }
  activities_.push_back(std::move(activity));
}

}  // namespace spyre::device_sim
