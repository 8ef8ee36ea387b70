// spyre/device_sim/scheduler_observers.cpp — what others may ask of a run: counters, timeline, activities, meters.
#include "scheduler.h"

namespace spyre::device_sim {

CardCounters Scheduler::counters() const {
  const Lock lock(mutex_);
  CardCounters counters = counters_;
  counters.modelled_picoseconds = (finished_ - counters_since_).count;
  return counters;
}

void Scheduler::reset_counters() {
  const Lock lock(mutex_);
  counters_ = {};
  counters_since_ = finished_;
}

void Scheduler::record_timeline(bool on) {
  const Lock lock(mutex_);
  timeline_.record(on, clock_);
}

std::string Scheduler::timeline_json(const TraceOptions& options) const {
  const Lock lock(mutex_);
  return timeline_.json(spec_, options);
}

std::string Scheduler::report_json(const DeviceSpec& spec) const {
  const Lock lock(mutex_);
  return timeline_.report(spec);
}

void Scheduler::record_activities(CallerName caller) {
  const Lock lock(mutex_);
  activities_.begin(std::move(caller), clock_.host());
}

ActivityRecord Scheduler::take_activities() {
  const Lock lock(mutex_);
  return activities_.take();
}

void Scheduler::publish(Meters& meters) {
  const Lock lock(mutex_);
  meters_ = &meters;
}

}  // namespace spyre::device_sim
