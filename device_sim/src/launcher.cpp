// spyre/device_sim/launcher.cpp — checks first, then one operation per step.
#include "spyre/device_sim/launcher.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/copies.h"

namespace spyre::device_sim {
namespace {

constexpr std::uint32_t kHostStreams = 4;

/// Runs the step's program unless the correction of its arguments has failed. Immutable.
class CorrectedProgram final : public Program {
 public:
  CorrectedProgram(std::shared_ptr<const Program> program,
                   std::shared_ptr<const std::exception_ptr> failure)
      : program_(std::move(program)), failure_(std::move(failure)) {}
  std::int64_t work_items(std::span<const std::byte> arguments) const override {
    if (*failure_) std::rethrow_exception(*failure_);
    return program_->work_items(arguments);
  }
  void run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
           Core& core) const override {
    program_->run(arguments, first, last, core);
  }

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::exception_ptr> failure_;
};

template <class Step> bool is(const PlanStep& step) {
  return std::holds_alternative<Step>(step.what);
}

}  // namespace

/// Pinned memory of one launch: the record here, and its place on the card.
struct PlanLauncher::Slot {
  std::vector<std::byte> record;
  Allocation memory;
  TimelinePoint last;  // of the launch that used it last
};

struct PlanLauncher::Run {
  Slot& slot;
  StreamId stream, host_stream;
  std::shared_ptr<const std::vector<Allocation>> operands;
  std::shared_ptr<std::exception_ptr> failure;
  Urgency urgency;
  TimelinePoint sent = {};  // nothing to wait for until something is sent
};

PlanLauncher::PlanLauncher(Card& card, DevicePlan plan, std::size_t depth)
    : card_(card), plan_(std::move(plan)) {
  if (depth == 0) throw InvalidArgument(str(plan_.name, ": a ring has one slot at least; got 0"));
  check_plan();
  for (std::size_t i = 0; i < depth; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->record.resize(plan_.record.count);
    slots_.push_back(std::move(slot));
    slots_.back()->memory = card_.allocate({.size = plan_.record, .type = MemoryType::Program});
  }
}

PlanLauncher::~PlanLauncher() {
  for (const std::unique_ptr<Slot>& slot : slots_) {
    card_.drain(slot->last);
    card_.free(slot->memory);
  }
}

void PlanLauncher::check_plan() const {
  bool corrected = false, sent = false;
  for (const PlanStep& step : plan_.steps) {
    if (is<SendStep>(step) && !corrected)
      throw InvalidArgument(str(plan_.name, ": step \"", step.name, "\" sends arguments that no ",
                                "step before it has written"));
    corrected = corrected || is<CorrectStep>(step);
    sent = sent || is<SendStep>(step);
    check_operand_numbers(step);
    const auto* compute = std::get_if<ComputeStep>(&step.what);
    if (compute == nullptr) continue;
    if (compute->length != 0_B && !sent)
      throw InvalidArgument(
          str(plan_.name, ": step \"", step.name, "\" has arguments that were ", "not sent"));
    if (compute->offset + compute->length > plan_.record)
      throw InvalidArgument(str(plan_.name, ": step \"", step.name, "\" has arguments up to byte ",
                                (compute->offset + compute->length).count, " of a record of ",
                                plan_.record.count));
  }
}

void PlanLauncher::check_operand_numbers(const PlanStep& step) const {
  const auto check = [&](std::size_t operand) {
    if (operand >= plan_.operands.size())
      throw InvalidArgument(str(plan_.name, ": step \"", step.name, "\" names operand ", operand,
                                "; the plan has ", plan_.operands.size()));
  };
  if (const auto* fetch = std::get_if<FetchStep>(&step.what)) check(fetch->operand);
  if (const auto* compute = std::get_if<ComputeStep>(&step.what)) {
    std::ranges::for_each(compute->reads, check);
    std::ranges::for_each(compute->writes, check);
  }
}

void PlanLauncher::check_operands(std::span<const Allocation> operands) const {
  if (operands.size() != plan_.operands.size())
    throw InvalidArgument(
        str(plan_.name, ": got ", operands.size(), " operands; expected ", plan_.operands.size()));
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].length < plan_.operands[i])
      throw InvalidArgument(str(plan_.name, ": operand ", i, " has ", operands[i].length,
                                "; expected at least ", plan_.operands[i]));
}

TimelinePoint PlanLauncher::launch(StreamId stream, std::vector<Allocation> operands,
                                   Urgency urgency) {
  check_operands(operands);
  const Lock lock(mutex_);
  const std::size_t index = next_++ % slots_.size();
  Slot& slot = *slots_[index];
  Run run{.slot = slot,
          .stream = stream,
          .host_stream = card_.host_stream(static_cast<std::uint32_t>(index) % kHostStreams),
          .operands = std::make_shared<const std::vector<Allocation>>(std::move(operands)),
          .failure = std::make_shared<std::exception_ptr>(),
          .urgency = urgency};
  for (const PlanStep& step : plan_.steps) {
    const TimelinePoint point = enqueue(step, run);
    if (is<SendStep>(step)) run.sent = point;
    slot.last = point;
  }
  return slot.last;
}

/// The operation of each kind of step.
struct PlanLauncher::StepBuilder {
  const Run& run;
  Bytes record;

  Operation operator()(const CorrectStep& step) const {
    Operation operation;
    operation.what =
        HostCallback{[&step, &slot = run.slot, failure = run.failure, operands = run.operands] {
          try {
            step.write(slot.record, *operands);
          } catch (...) { *failure = std::current_exception(); }
        }};
    operation.after = {run.slot.last};
    return operation;
  }
  Operation operator()(const SendStep&) const {
    return upload_to(run.slot.memory, 0_B, run.slot.record.data(), record);
  }
  Operation operator()(const ComputeStep& step) const {
    Operation operation;
    operation.what = Compute{std::make_shared<CorrectedProgram>(step.program, run.failure),
                             part_of(run.slot.memory, step.offset, step.length)};
    operation.footprint = {.reads = pieces_of(step.reads), .writes = pieces_of(step.writes)};
    operation.work = step.work;
    if (run.sent.sequence != 0) operation.after = {run.sent};
    return operation;
  }
  Operation operator()(const FetchStep& step) const {
    return download_from((*run.operands)[step.operand], step.offset, step.target, step.length);
  }

 private:
  std::vector<Piece> pieces_of(const std::vector<std::size_t>& operands) const {
    std::vector<Piece> pieces;
    for (const std::size_t i : operands) pieces.push_back((*run.operands)[i].place);
    return pieces;
  }
};

TimelinePoint PlanLauncher::enqueue(const PlanStep& step, const Run& run) {
  const bool for_host = is<CorrectStep>(step) || is<SendStep>(step);
  Operation operation = std::visit(StepBuilder{run, plan_.record}, step.what);
  operation.name = step.name;
  operation.chained = !is<ComputeStep>(step);  // which pays for the launch
  return card_.enqueue(for_host ? run.host_stream : run.stream, std::move(operation), run.urgency);
}

}  // namespace spyre::device_sim
