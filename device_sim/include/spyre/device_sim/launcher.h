// spyre/device_sim/launcher.h — a prepared launch: steps, and a ring of slots for their arguments.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "spyre/base/mutex.h"
#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

/// On the host: writes this launch's addresses and numbers into the argument record.
struct CorrectStep {
  std::function<void(std::span<std::byte> record, std::span<const Allocation> operands)> write;
};
/// The record goes to the card.
struct SendStep {};
/// A program with a part of the record as its arguments.
struct ComputeStep {
  std::shared_ptr<const Program> program;
  Bytes offset, length;                    // of its arguments in the record
  std::vector<std::size_t> reads, writes;  // operands
  Work work = {};
};
/// A part of an operand goes to the host, which keeps `target` until then.
struct FetchStep {
  std::size_t operand = 0;
  Bytes offset, length;
  std::byte* target = nullptr;
};

struct PlanStep {
  std::string name;
  std::variant<CorrectStep, SendStep, ComputeStep, FetchStep> what;
};

/// What is prepared once and launched often. Owns code and numbers, never tensors.
struct DevicePlan {
  std::string name;
  std::vector<PlanStep> steps;
  Bytes record;                 // argument bytes of one launch
  std::vector<Bytes> operands;  // how long each must be, at least
};

/// Launches one plan. Corrections and sends run on the host's streams, beside what the launching
/// stream still computes, as far as the ring has slots: with one slot, a launch is corrected once
/// the one before has computed, as upstream does. No slot is written before the launch that used it
/// last is done. Waits for its launches at the end. Internally synchronized.
class PlanLauncher {
 public:
  /// Throws InvalidArgument for a plan that cannot work, OutOfDeviceMemory if the slots do not fit
  /// the region for programs.
  PlanLauncher(Card& card, DevicePlan plan, std::size_t depth);
  ~PlanLauncher();
  PlanLauncher(const PlanLauncher&) = delete;
  PlanLauncher& operator=(const PlanLauncher&) = delete;

  /// The operands are the caller's to keep until the point is reached. Throws InvalidArgument if
  /// they do not fit the plan; then nothing is enqueued. What a correction throws becomes the fault
  /// of `stream`.
  TimelinePoint launch(StreamId stream, std::vector<Allocation> operands, Urgency urgency)
      SPYRE_EXCLUDES(mutex_);
  std::size_t depth() const { return slots_.size(); }
  const DevicePlan& plan() const { return plan_; }

 private:
  struct Slot;
  struct Run;
  struct StepBuilder;
  void check_plan() const;
  void check_operand_numbers(const PlanStep& step) const;
  void check_operands(std::span<const Allocation> operands) const;
  TimelinePoint enqueue(const PlanStep& step, const Run& run) SPYRE_REQUIRES(mutex_);

  Card& card_;
  const DevicePlan plan_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t next_ SPYRE_GUARDED_BY(mutex_) = 0;
};

}  // namespace spyre::device_sim
