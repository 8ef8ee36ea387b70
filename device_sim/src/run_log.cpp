// spyre/device_sim/run_log.cpp — replays calls through a clock; nothing is executed.
#include "run_log.h"

#include <algorithm>
#include <map>

#include "spyre/device_sim/work_division.h"

namespace spyre::device_sim {
namespace {

/// Applies entries to a clock. Points of entries that it has not seen keep the time they were
/// recorded with. Confined to one thread.
class Replay {
 public:
  Replay(const Clock& clock, const DeviceSpec& spec, bool divide)
      : clock_(clock), spec_(spec), divide_(divide) {}

  ModelledRow apply(const RunEntry& entry) {
    clock_.anchor(entry.wall);
    ModelledRow row{.entry = &entry, .span = {}, .price = {}};
    switch (entry.kind) {
      case RunEntry::Kind::Submit: submit(entry, row); break;
      case RunEntry::Kind::Join: row.span = clock_.join(entry.point.stream, latest(entry)); break;
      case RunEntry::Kind::Synchronize: clock_.synchronize(time_of(entry.point)); return row;
      case RunEntry::Kind::SynchronizeAll: clock_.synchronize(clock_.latest()); return row;
      case RunEntry::Kind::Meet: clock_.meet({entry.point.modelled_ps}); return row;
    }
    times_[entry.point.stream.value][entry.point.sequence] = clock_.last(entry.point.stream);
    return row;
  }
  const Clock& clock() const { return clock_; }

 private:
  void submit(const RunEntry& entry, ModelledRow& row) {
    Charge charge = entry.charge;
    if (divide_ && charge.work.split.chosen()) charge.work = divided(charge.work, spec_.cores);
    row.price = price_of(charge, spec_);
    row.span = clock_.submit(entry.point.stream, charge, entry.barrier, latest(entry));
  }

  Picoseconds time_of(const TimelinePoint& point) const {
    const auto stream = times_.find(point.stream.value);
    if (stream != times_.end()) {
      const auto at = stream->second.find(point.sequence);
      if (at != stream->second.end()) return at->second;
    }
    return {point.modelled_ps};
  }

  Picoseconds latest(const RunEntry& entry) const {
    Picoseconds latest = entry.after_peer;
    for (const TimelinePoint& point : entry.after) latest = std::max(latest, time_of(point));
    return latest;
  }

  Clock clock_;
  const DeviceSpec& spec_;
  bool divide_;  // anew: the recorded division is another card's
  std::map<std::uint32_t, std::map<std::uint64_t, Picoseconds>> times_;
};

}  // namespace

void RunLog::add(RunEntry entry) {
  if (entries_.size() == kEntries) {
    RunEntry& first = entries_.front();
    Replay replay(before_, before_.spec(), false);
    replay.apply(first);
    before_ = replay.clock();
    entries_.pop_front();
    ++dropped_;
  }
  entries_.push_back(std::move(entry));
}

ModelledRun RunLog::priced(const DeviceSpec& spec) const {
  Replay replay(Clock(before_, spec), spec, spec.cores != before_.spec().cores);
  ModelledRun run{
      .rows = {}, .begin = before_.host(), .end = before_.host(), .host = {}, .dropped = dropped_};
  for (const RunEntry& entry : entries_) {
    const ModelledRow row = replay.apply(entry);
    if (entry.kind != RunEntry::Kind::Submit && entry.kind != RunEntry::Kind::Join) continue;
    run.end = std::max(run.end, row.span.end);
    run.rows.push_back(row);
  }
  run.host = replay.clock().host();
  return run;
}

}  // namespace spyre::device_sim
