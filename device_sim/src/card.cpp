// spyre/device_sim/card.cpp — memory, cores and scheduler behind one door.
#include "spyre/device_sim/card.h"

#include <unistd.h>

#include "core_array.h"
#include "device_memory.h"
#include "scheduler.h"

namespace spyre::device_sim {
namespace {

template <class Visit>
void for_each_piece(const Piece& first, const std::vector<Piece>& more, const Visit& visit) {
  visit(first);
  for (const Piece& piece : more) visit(piece);
}

/// Runs one operation on the parts of the card. Borrowed references; immutable.
class Executor {
 public:
  Executor(const DeviceMemory& memory, CoreArray& cores) : memory_(memory), cores_(cores) {}

  void operator()(const Operation& operation) const {
    std::visit([&](const auto& what) { run(what, operation.work); }, operation.what);
  }

 private:
  void run(const HostToDevice& copy, const Work&) const {
    if (copy.source == nullptr) return;
    const std::byte* source = copy.source;
    for_each_piece(copy.target, copy.more, [&](const Piece& piece) {
      cores_.copy(memory_.address(piece), source, piece.length.count);
      source += piece.length.count;
    });
  }
  void run(const DeviceToHost& copy, const Work&) const {
    if (copy.target == nullptr) return;
    std::byte* target = copy.target;
    for_each_piece(copy.source, copy.more, [&](const Piece& piece) {
      cores_.copy(target, memory_.address(piece), piece.length.count);
      target += piece.length.count;
    });
  }
  void run(const Compute& compute, const Work& work) const {
    cores_.run(*compute.program,
               {memory_.address(compute.arguments), compute.arguments.length.count}, work);
  }
  void run(const HostCallback& callback, const Work&) const { callback.function(); }

  const DeviceMemory& memory_;
  CoreArray& cores_;
};

}  // namespace

/// Members end in reverse order: the scheduler drains first, while cores and memory still exist.
struct Card::State {
  explicit State(DeviceSpec s)
      : spec(std::move(s)), memory(spec), cores(spec), scheduler(spec, Executor(memory, cores)) {}
  const DeviceSpec spec;
  DeviceMemory memory;
  CoreArray cores;
  Scheduler scheduler;
  const pid_t owner = getpid();
};

Card::Card(DeviceSpec spec) : state_(std::make_unique<State>(std::move(spec))) {}

Card::~Card() {
  // A forked child has a copy of the card without its threads: nothing in it may be waited for,
  // locked or joined.
  if (getpid() != state_->owner) [[maybe_unused]]
    State* abandoned = state_.release();
}

const DeviceSpec& Card::spec() const { return state_->spec; }

Allocation Card::allocate(Bytes size) { return state_->memory.allocate(size); }
void Card::free(const Allocation& allocation) { state_->memory.free(allocation); }
std::byte* Card::address(const Piece& piece) const { return state_->memory.address(piece); }
MemoryStats Card::memory_stats() const { return state_->memory.stats(); }
void Card::reset_peak_memory() { state_->memory.reset_peak(); }
std::vector<MemoryRun> Card::memory_runs() const { return state_->memory.runs(); }
Bytes Card::trim() { return state_->memory.trim(); }

StreamId Card::create_stream(int priority) { return state_->scheduler.create_stream(priority); }
StreamId Card::host_stream(std::uint32_t worker) { return state_->scheduler.host_stream(worker); }
StreamState Card::stream_state(StreamId stream) const {
  return state_->scheduler.stream_state(stream);
}
bool Card::any_fault() const { return state_->scheduler.any_fault(); }
TimelinePoint Card::enqueue(StreamId stream, Operation operation, Urgency urgency) {
  return state_->scheduler.submit(stream, std::move(operation), urgency);
}
TimelinePoint Card::enqueue(StreamId stream, std::span<Operation> operations, Urgency urgency) {
  return state_->scheduler.submit(stream, operations, urgency);
}
void Card::wait_for(StreamId stream, TimelinePoint point) { state_->scheduler.join(stream, point); }
TimelinePoint Card::last_point(StreamId stream) const {
  return state_->scheduler.last_point(stream);
}
bool Card::reached(TimelinePoint point) const { return state_->scheduler.reached(point); }
void Card::synchronize(TimelinePoint point) { state_->scheduler.synchronize(point); }
void Card::synchronize_all() { state_->scheduler.synchronize_all(); }
void Card::drain(TimelinePoint point) { state_->scheduler.drain(point); }
void Card::drain_all() { state_->scheduler.drain_all(); }
std::exception_ptr Card::take_fault(StreamId stream) {
  return state_->scheduler.take_fault(stream);
}

std::uint64_t Card::modelled_time(TimelinePoint point) const { return point.modelled_ps; }
CardCounters Card::counters() const { return state_->scheduler.counters(); }
void Card::reset_counters() { state_->scheduler.reset_counters(); }
void Card::record_timeline(bool on) { state_->scheduler.record_timeline(on); }
std::string Card::timeline_json(const TraceOptions& options) const {
  return state_->scheduler.timeline_json(options);
}
std::string Card::report_json() const { return report_json(state_->spec); }
std::string Card::report_json(const DeviceSpec& what_if) const {
  return state_->scheduler.report_json(what_if);
}

}  // namespace spyre::device_sim
