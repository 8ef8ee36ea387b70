// spyre/device_sim/card.cpp — memory, cores and scheduler behind one door.
#include "spyre/device_sim/card.h"

#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "captures.h"
#include "core_array.h"
#include "deferred_frees.h"
#include "device_memory.h"
#include "scheduler.h"
#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

/// Deferred frees that a call looks at: a bounded share of its time.
constexpr std::size_t kCollected = 8;

void require_modelled_time(const Card& card) {
  if (card.models_time()) return;
  throw InvalidArgument(
      "this card models no time, because its clock is off; start the process with "
      "SPYRE_CLOCK=virtual to measure or record it");
}

/// Where an operation can be made to fail; none for waits, and for the memory that a receiver opens.
std::optional<FaultSite> site_of(const Operation& operation) {
  using enum FaultSite;
  constexpr std::optional<FaultSite> kNowhere;
  constexpr std::array<std::optional<FaultSite>, 8> kSites{
      HostToDevice, DeviceToHost, Kernel, Callback, kNowhere, PeerCopy, kNowhere, kNowhere};
  static_assert(std::variant_size_v<decltype(Operation::what)> == kSites.size());
  return kSites[operation.what.index()];
}

/// Runs one operation on the parts of the card. Borrowed references; immutable.
class Executor {
 public:
  Executor(const DeviceMemory& memory, CoreArray& cores, FaultInjector& faults)
      : memory_(memory), cores_(cores), faults_(faults) {}

  void operator()(const Operation& operation) const {
    if (const std::optional<FaultSite> site = site_of(operation)) faults_.check(*site);
    std::visit([&](const auto& what) { run(what, operation.work); }, operation.what);
  }

 private:
  void run(const HostToDevice& copy, const Work&) const {
    if (copy.source == nullptr) return;
    cores_.copy(memory_.address(copy.target), copy.source, copy.target.length.count);
  }
  void run(const DeviceToHost& copy, const Work&) const {
    if (copy.target == nullptr) return;
    cores_.copy(copy.target, memory_.address(copy.source), copy.source.length.count);
  }
  void run(const Compute& compute, const Work& work) const {
    cores_.run(*compute.program,
               {memory_.address(compute.arguments), compute.arguments.length.count}, work);
  }
  void run(const HostCallback& callback, const Work&) const { callback.function(); }
  void run(const Send& send, const Work&) const {
    cores_.copy(send.target, memory_.address(send.source), send.source.length.count);
    if (send.arrived) send.arrived();
  }
  void run(const PostReceive&, const Work&) const {}
  void run(const Receive&, const Work&) const {}
  void run(const AwaitPeer&, const Work&) const {}

  const DeviceMemory& memory_;
  CoreArray& cores_;
  FaultInjector& faults_;
};

}  // namespace

/// Members end in reverse order: the scheduler drains first, while cores and memory still exist.
struct Card::State {
  State(DeviceSpec s, std::shared_ptr<const ModelledHost> host)
      : spec(std::move(s)),
        memory(spec),
        cores(spec),
        scheduler(spec, Executor(memory, cores, injector),
                  host ? std::move(host) : std::make_shared<ModelledHost>()),
        deferred(memory, scheduler) {}

  /// Memory that was not there at once: from deferred frees, from those that are still to be
  /// waited for, from the handler, in this order.
  Allocation relieve(const AllocationRequest& request) {
    const std::function<bool()> steps[] = {
        [&] { return deferred.collect(DeferredFrees::kAll); },
        [&] { return deferred.drain(); },
        [&] {
          const ExhaustionHandler handle = handler();
          return handle && handle(request.size);
        },
    };
    for (const std::function<bool()>& helped : steps) {
      if (!helped()) continue;
      if (std::optional<Allocation> allocation = memory.try_allocate(request)) {
        memory.note_relieved();
        return std::move(*allocation);
      }
    }
    memory.fail(request);
  }

  ExhaustionHandler handler() {
    const Lock lock(handler_mutex);
    return exhaustion_handler;
  }
  void set_handler(ExhaustionHandler handler) {
    const Lock lock(handler_mutex);
    exhaustion_handler = std::move(handler);
  }

  const DeviceSpec spec;
  FaultInjector injector;
  DeviceMemory memory;
  CoreArray cores;
  Scheduler scheduler;
  DeferredFrees deferred;
  Captures captures;
  Mutex handler_mutex;
  ExhaustionHandler exhaustion_handler SPYRE_GUARDED_BY(handler_mutex);
  const pid_t owner = getpid();
};

Card::Card(DeviceSpec spec, std::shared_ptr<const ModelledHost> host)
    : state_(std::make_unique<State>(std::move(spec), std::move(host))) {}

Card::~Card() {
  // A forked child has a copy of the card without its threads: nothing in it may be waited for,
  // locked or joined.
  if (getpid() != state_->owner) [[maybe_unused]]
    State* abandoned = state_.release();
}

const DeviceSpec& Card::spec() const { return state_->spec; }

Allocation Card::allocate(Bytes size) { return allocate(AllocationRequest{.size = size}); }
Allocation Card::allocate(const AllocationRequest& request) {
  if (state_->injector.due(FaultSite::Allocation)) state_->memory.fail(request);
  if (state_->deferred.any()) state_->deferred.collect(kCollected);
  std::optional<Allocation> allocation = state_->memory.try_allocate(request);
  return allocation ? std::move(*allocation) : state_->relieve(request);
}
void Card::free(const Allocation& allocation) { state_->memory.free(allocation); }
void Card::free_after(Allocation allocation, std::vector<TimelinePoint> points) {
  state_->deferred.add(std::move(allocation), std::move(points));
  state_->deferred.collect(kCollected);
}
void Card::on_exhaustion(ExhaustionHandler handler) { state_->set_handler(std::move(handler)); }
std::byte* Card::address(const Piece& piece) const { return state_->memory.address(piece); }
LogicalAddress Card::logical_address(const Piece& piece) const {
  return state_->memory.logical_address(piece);
}
std::uint16_t Card::domains() const { return state_->memory.domains(); }
std::uint16_t Card::domain_of(const Piece& piece) const { return state_->memory.domain_of(piece); }
MemoryStats Card::memory_stats() const {
  MemoryStats stats = state_->memory.stats();
  stats.deferred = state_->deferred.bytes();
  return stats;
}
MemorySnapshot Card::memory_snapshot() const { return state_->memory.snapshot(); }
void Card::reset_peak_memory() { state_->memory.reset_peak(); }
void Card::reset_memory_totals() { state_->memory.reset_totals(); }
Bytes Card::trim() { return state_->memory.trim(); }

StreamId Card::create_stream(int priority) { return state_->scheduler.create_stream(priority); }
StreamId Card::host_stream(std::uint32_t worker) { return state_->scheduler.host_stream(worker); }
StreamState Card::stream_state(StreamId stream) const {
  return state_->scheduler.stream_state(stream);
}
bool Card::any_fault() const { return state_->scheduler.any_fault(); }
TimelinePoint Card::enqueue(StreamId stream, Operation&& operation, Urgency urgency) {
  return enqueue(stream, std::span(&operation, 1), urgency);
}
TimelinePoint Card::enqueue(StreamId stream, std::span<Operation> operations, Urgency urgency) {
  if (state_->captures.take(stream, operations)) return {.stream = stream};
  return state_->scheduler.submit(stream, operations, urgency);
}
void Card::wait_for(StreamId stream, TimelinePoint point) {
  state_->captures.refuse(stream, "a wait of");
  state_->scheduler.join(stream, point);
}
void Card::wait_for(StreamId stream, PeerPoint point) {
  state_->captures.refuse(stream, "a wait of");
  state_->scheduler.submit(stream, {.what = AwaitPeer{point}, .name = "join"}, Urgency::Waited);
}
void Card::begin_capture(StreamId stream) {
  state_->scheduler.last_point(stream);  // rejects a stream that does not exist
  state_->captures.begin(stream);
}
std::shared_ptr<const CapturedSequence> Card::end_capture(StreamId stream) {
  return state_->captures.end(stream);
}
TimelinePoint Card::replay(StreamId stream, const CapturedSequence& sequence, Urgency urgency) {
  state_->captures.refuse(stream, "a replay on");
  TimelinePoint last = state_->scheduler.last_point(stream);
  bool first = true;
  for (Operation operation : sequence.operations) {
    operation.chained = !std::exchange(first, false);
    last = state_->scheduler.submit(stream, std::move(operation), urgency);
  }
  return last;
}
TimelinePoint Card::last_point(StreamId stream) const {
  return state_->scheduler.last_point(stream);
}
bool Card::reached(TimelinePoint point) const { return state_->scheduler.reached(point); }
void Card::synchronize(TimelinePoint point) { state_->scheduler.synchronize(point); }
void Card::synchronize_all() { state_->scheduler.synchronize_all(); }
void Card::drain(TimelinePoint point) { state_->scheduler.drain(point); }
void Card::drain_all() { state_->scheduler.drain_all(); }
void Card::drain_for_peer(TimelinePoint point) { state_->scheduler.drain_for_peer(point); }
std::exception_ptr Card::take_fault(StreamId stream) {
  return state_->scheduler.take_fault(stream);
}

std::shared_ptr<const Arrival> Card::watch(TimelinePoint point) {
  return state_->scheduler.watch(point);
}
bool Card::models_time() const { return clock_mode_of(state_->spec) != ClockMode::Off; }
std::uint64_t Card::modelled_time(TimelinePoint point) const {
  require_modelled_time(*this);
  return point.modelled_ps;
}
CardCounters Card::counters() const { return state_->scheduler.counters(); }
void Card::reset_counters() { state_->scheduler.reset_counters(); }
void Card::record_timeline(bool on) {
  if (on) require_modelled_time(*this);
  state_->scheduler.record_timeline(on);
}
std::string Card::timeline_json(const TraceOptions& options) const {
  require_modelled_time(*this);
  return state_->scheduler.timeline_json(options);
}
std::string Card::report_json() const { return report_json(state_->spec); }
std::string Card::report_json(const DeviceSpec& what_if) const {
  require_modelled_time(*this);
  return state_->scheduler.report_json(what_if);
}
FaultInjector& Card::fault_injector() { return state_->injector; }
void Card::publish(Meters& meters) {
  state_->scheduler.publish(meters);
  state_->memory.publish(meters);
}
void Card::record_activities(CallerName caller) {
  require_modelled_time(*this);
  state_->scheduler.record_activities(std::move(caller));
}
ActivityRecord Card::take_activities() { return state_->scheduler.take_activities(); }

}  // namespace spyre::device_sim
