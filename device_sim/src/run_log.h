// spyre/device_sim/run_log.h — what a program asked of the card, in order: enough to price it again.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "clock.h"
#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

/// One call that the modelled clock saw.
struct RunEntry {
  enum class Kind : std::uint8_t { Submit, Join, Synchronize, SynchronizeAll, Meet } kind{};
  // Submit and Join: its own; Synchronize: the awaited one; Meet: when, of no stream.
  TimelinePoint point = {};
  std::vector<TimelinePoint> after = {};  // Submit and Join
  Picoseconds after_peer = {};            // likewise: what another card has to get to
  Charge charge = {};
  bool barrier = true;
  std::string name = {};
  std::uint64_t correlation = 0;
  Picoseconds wall = {};  // since the card started, if the clock is anchored to it
};

/// When an entry happens, and why it takes its time.
struct ModelledRow {
  const RunEntry* entry;
  ModelledSpan span;
  Price price;
};

/// A run on a modelled card: a row per submission and join. Borrows the log's entries.
struct ModelledRun {
  std::vector<ModelledRow> rows;
  Picoseconds begin, end, host;  // the log's part; the host when it ends
  std::uint64_t dropped = 0;     // entries of the log that were too old to keep
};

/// Keeps the latest calls and counts what it dropped. Confined to its owner's lock.
class RunLog {
 public:
  static constexpr std::size_t kEntries = 1 << 15;

  /// From here on, by `clock`, which has seen everything before.
  explicit RunLog(const Clock& clock) : before_(clock) {}

  void add(RunEntry entry);
  /// Prices the run on `spec`: with the card's own, this is what its clock said. Operations of
  /// before the log are as they were.
  ModelledRun priced(const DeviceSpec& spec) const;
  std::size_t size() const { return entries_.size(); }

 private:
  Clock before_;  // the first entry that is kept
  std::deque<RunEntry> entries_;
  std::uint64_t dropped_ = 0;
};

}  // namespace spyre::device_sim
