// spyre/lazy/device_state.cpp — from the end of a trace to operations on the card.
//
// A launch is three kinds of operations on the stream: a host callback writes resolved addresses
// and scalars into the flight's slot, a transfer brings the slot to the program's allocation, and
// computes read their arguments there.
#include "device_state.h"

#include <cstring>

#include "buffer_access.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/patience.h"

namespace spyre::lazy {

using device_sim::Operation;
using device_sim::TimelinePoint;
using device_sim::Urgency;

Urgency urgency_of(FlushReason reason) {
  switch (reason) {
    case FlushReason::Step:
    case FlushReason::NodeLimit:
    case FlushReason::ByteLimit:
    case FlushReason::Event:
    case FlushReason::CrossStream:
    case FlushReason::HostToDevice:
    case FlushReason::DeviceToDevice:
    case FlushReason::MemoryPressure: return Urgency::Background;
    default: return Urgency::Waited;
  }
}

namespace {

/// This thread makes room. What it lets go of may ask for memory in turn, and is not asked to make
/// room for that. Confined to its scope.
class Relief {
 public:
  Relief() : nested_(std::exchange(active_, true)) {}
  ~Relief() { active_ = nested_; }
  Relief(const Relief&) = delete;
  Relief& operator=(const Relief&) = delete;
  bool nested() const { return nested_; }

 private:
  static thread_local bool active_;  // NOLINT(readability-identifier-naming): not a variable
  bool nested_;
};
thread_local bool Relief::active_ = false;

/// An operation of one launch.
template <class What>
device_sim::Operation& add(std::vector<device_sim::Operation>& operations,
                           std::uint64_t correlation, std::string_view name, What what) {
  device_sim::Operation& operation = operations.emplace_back();
  operation.what = std::move(what);
  operation.name = name;
  operation.correlation = correlation;
  return operation;
}

}  // namespace

Device::State::State(Device& device, device_sim::DeviceSpec spec,
                     std::shared_ptr<const device_sim::ModelledHost> host, const Settings& settings)
    : card(std::move(spec), std::move(host)), buffers(device), planner(settings, card.spec()) {
  const Lock lock(mutex);
  add_stream(StreamId{0});
}

Device::State::~State() { card.synchronize_all(); }

void Device::State::add_stream(StreamId id) {
  if (id.value >= stream_of.size()) stream_of.resize(id.value + 1);
  streams.push_back(std::make_unique<StreamState>(id, card, buffers, directives));
  stream_of[id.value] = streams.back().get();
}

StreamId Device::State::open_stream(Lock& lock, StreamId id) {
  add_stream(id);
  // What was launched while there was one stream does not say what it touches.
  lock.unlock();
  card.drain_all();
  lock.lock();
  return id;
}

StreamState& Device::State::stream(StreamId id) {
  if (StreamState* s = find_stream(id)) return *s;
  throw InvalidArgument(str("stream: there is no stream ", id));
}

StreamState* Device::State::find_stream(StreamId id) {
  return id.value < stream_of.size() ? stream_of[id.value] : capture(id);
}

StreamState& Device::State::card_stream(StreamId id) {
  StreamState& s = stream(id);
  if (s.capture == nullptr) return s;
  throw CaptureError(
      "capture: a graph is being recorded, so nothing runs, and no value can be read, brought to "
      "the host, computed there, or waited for; do that before the capture or after a replay");
}

void Device::State::wait(StreamState& s, TimelinePoint point) {
  card.synchronize(point);
  std::uint64_t known = s.awaited.load(std::memory_order_relaxed);
  while (known < point.sequence &&
         !s.awaited.compare_exchange_weak(known, point.sequence, std::memory_order_release)) {}
}

void Device::State::wait_for_transfer(StreamState& s, TimelinePoint point) {
  try {
    wait(s, point);
  } catch (const device_sim::WaitGivenUp& end) {
    end.detach_transfer();
    throw;
  }
}

void Device::State::await_unless_awaited(Lock& lock, StreamState& s, const TimelinePoint& point) {
  while (!s.has_awaited(point)) {
    const TimelinePoint seen = point;  // another thread may take the place meanwhile
    lock.unlock();
    wait(s, seen);
    lock.lock();
  }
}

void Device::State::await_all(Lock& lock) {
  std::vector<std::pair<StreamState*, TimelinePoint>> points;
  for (const auto& s : streams) points.emplace_back(s.get(), card.last_point(s->id()));
  lock.unlock();
  for (const auto& [s, point] : points)
    if (!s->has_awaited(point)) wait(*s, point);
  lock.lock();
}

void Device::State::flush(Lock& lock, StreamState& s, FlushReason reason, Urgency urgency) {
  while (s.oldest() != nullptr) launch_oldest(lock, s, reason, urgency);
}

void Device::State::flush_all(Lock& lock, FlushReason reason, Urgency urgency) {
  // NOLINTNEXTLINE(modernize-loop-convert): a flush lets go of the lock, and streams may be added
  for (std::size_t i = 0; i < streams.size(); ++i) flush(lock, *streams[i], reason, urgency);
}

void Device::State::cut_step(Lock& lock, StreamState& s, std::size_t nodes) {
  while (!s.finished.empty()) launch_oldest(lock, s, FlushReason::Step, Urgency::Background);
  s.trace.swap(s.finished);
  s.finished.split_off(nodes, s.trace);
  while (!s.finished.empty()) launch_oldest(lock, s, FlushReason::Step, Urgency::Background);
}

void Device::State::launch_oldest(Lock& lock, StreamState& s, FlushReason reason, Urgency urgency) {
  for (bool relieved = false; s.oldest() != nullptr; relieved = true) {
    s.choose_flight();
    // Back-pressure: the slot's last launch must be done.
    while (!s.has_awaited(s.next_flight().last))
      await_unless_awaited(lock, s, s.next_flight().last);
    Trace* const trace = s.oldest();
    if (trace == nullptr) return;  // another thread flushed
    const FlushReason why = trace == &s.finished ? FlushReason::Step : reason;
    try {
      launch(s, *trace, planner.find_or_compile(*trace, s.last_plan), urgency);
      s.steps.flushed(why);
      ++counted.flushes[static_cast<std::size_t>(why)];
      log(LogChannel::Launch, [&] { return str("stream ", s.id(), ": ", name_of(why)); });
      return drop_retired(lock);
    } catch (const OutOfDeviceMemory&) {
      if (relieved) {
        abandon(*trace, Spoiled::ByMemory);
        throw;
      }
    } catch (...) {
      abandon(*trace, Spoiled::ByFault);
      throw;
    }
    relieve_memory(lock);
  }
}

void Device::State::drop_retired(Lock& lock) {
  if (!planner.has_retired()) return;
  auto retired = planner.take_retired();
  lock.unlock();
  retired.clear();  // plans own library calls, whose ends are the engine's code
  lock.lock();
}

bool Device::State::place(StreamState& s, const Trace& trace,
                          const std::shared_ptr<const LaunchPlan>& plan) {
  operations.clear();  // of a launch that was not accepted: it holds its flight
  Flight& flight = s.next_flight();
  if (!plan->steps.empty()) flight.place_buffers(plan, trace);
  count(*plan);
  return !plan->steps.empty();
}

void Device::State::launch(StreamState& s, Trace& trace,
                           const std::shared_ptr<const LaunchPlan>& plan, Urgency urgency) {
  if (!place(s, trace, plan)) return trace.clear();
  s.next_flight().begin(trace);
  submit(s, urgency);
}

void Device::State::launch(StreamState& s, const Trace& trace, std::vector<std::uint64_t> params,
                           const std::shared_ptr<const LaunchPlan>& plan, Urgency urgency) {
  if (!place(s, trace, plan)) return;
  s.next_flight().begin(trace, std::move(params));
  submit(s, urgency);
}

/// With a deeper ring of arguments than one, they are written and sent beside what earlier launches
/// compute, back to the one that used the buffer last. The slots themselves are free in any case.
/// Each operation holds the flight: if a later one is not accepted, the slot is busy until these
/// are done.
void Device::State::send_arguments_ahead(StreamState& s, Urgency urgency,
                                         const std::shared_ptr<const void>& handle) {
  Flight& flight = s.next_flight();
  flight.fill_ahead();
  Operation& resolve = operations[0];
  resolve.barrier = false;
  resolve.keep_alive = operations[1].keep_alive = handle;
  const std::size_t depth = static_cast<std::size_t>(card.spec().correction_depth);
  const TimelinePoint before = s.flight_before(depth).last;
  if (before.sequence != 0) resolve.after = {before};
  const TimelinePoint resolved = flight.last =
      card.enqueue(s.id(), std::move(operations[0]), urgency);
  Operation& send = operations[1];
  send.barrier = false;
  send.after = {resolved};
  flight.last = card.enqueue(s.id(), std::move(operations[1]), urgency);
  operations.clear();
}

void Device::State::submit(StreamState& s, Urgency urgency) {
  Flight& flight = s.next_flight();
  std::shared_ptr<const void> handle = flight.handle();
  const std::uint64_t correlation = ++s.launches;
  add(operations, correlation, "resolve_arguments",
      device_sim::HostCallback{[&flight] { flight.fill_image(); }});
  add(operations, correlation, "send_arguments",
      device_sim::HostToDevice{flight.image(), flight.arguments(), nullptr});
  for (Operation& operation : operations) {
    operation.listener = &flight;
    operation.part = Flight::kArguments;
  }
  if (card.spec().correction_depth > 1) send_arguments_ahead(s, urgency, handle);
  s.slot = (s.slot + 1) % StreamState::kFlights;
  for (std::uint32_t part = 0; const LaunchStep& step : flight.plan().steps) {
    Operation& compute = add(operations, correlation, step.name,
                             device_sim::Compute{step.program, flight.arguments_of(step)});
    compute.listener = &flight;
    compute.part = part++;
    compute.work = step.work;
    if (directives.any()) compute.work.by_domain = flight.traffic_of(step);
    compute.source = flight.source_of(step);
    // Hazards are between streams; see create_stream.
    if (streams.size() > 1) compute.footprint = flight.footprint_of(step);
  }
  operations.back().keep_alive = std::move(handle);
  s.latest = flight.last = card.enqueue(s.id(), operations, urgency);
  operations.clear();
}

void Device::State::count(const LaunchPlan& plan) {
  counted.kernel_launches += plan.kernel_launches;
  counted.library_launches += plan.library_launches;
  counted.ops_planned += plan.ops_planned;
  counted.ops_fused += plan.ops_fused;
  counted.dead_ops += plan.dead_ops;
  counted.duplicate_ops += plan.duplicate_ops;
}

void Device::State::abandon(Trace& trace, Spoiled why) {
  for (const BufferUse& use : trace.buffers())
    if (trace.writes(use) && !BufferAccess::has_memory(*use.buffer))
      BufferAccess::set_spoiled(*use.buffer, why);
  trace.clear();
}

void Device::State::relieve_memory(Lock& lock) {
  const Relief relief;
  ++memory_reliefs;
  planner.clear();
  drop_retired(lock);
  const std::function<void()> pressure = relief.nested() ? nullptr : memory_pressure;
  lock.unlock();
  if (pressure) pressure();
  card.drain_all();
  card.trim();
  lock.lock();
}

StreamState* Device::State::pending_in(Buffer& buffer) {
  const std::uint64_t serial = BufferAccess::trace_serial(buffer);
  if (serial == 0) return nullptr;
  StreamState* user = find_stream(Trace::stream_of_serial(serial));
  if (user == nullptr) return nullptr;  // it was a capture
  const bool pending = serial == user->trace.serial() || serial == user->finished.serial();
  return pending ? user : nullptr;
}

bool Device::State::pending_writes(Buffer& buffer) {
  const StreamState* user = pending_in(buffer);
  return user != nullptr && (user->trace.writes(buffer) || user->finished.writes(buffer));
}

void Device::State::flush_uses(Lock& lock, StreamState& s, Buffer& buffer, FlushReason reason,
                               Urgency urgency) {
  StreamState* user = pending_in(buffer);
  if (user == nullptr) return;
  if (user == &s) return flush(lock, s, reason, urgency);
  if (user->capture != nullptr)
    throw CaptureError(
        "capture: this tensor is used by a graph that is being recorded; use it when that is done");
  flush(lock, *user, FlushReason::CrossStream, urgency);
  if (s.capture != nullptr) return;  // it comes after them whenever it runs
  card.wait_for(s.id(), card.last_point(user->id()));
}

void Device::State::raise_fault(StreamState& s) {
  std::optional<Fault> fault = s.faults.take();
  // A stream of the card is faulted only if the card itself failed, at whatever operation.
  std::exception_ptr of_card = card.take_fault(s.id());
  if (!fault) {
    if (!of_card) return;
    fault = {std::move(of_card), "stream", 0};
  }
  Lock lock(mutex);
  const SourceText text = source_text;
  lock.unlock();
  raise(*fault, text);
}

}  // namespace spyre::lazy
