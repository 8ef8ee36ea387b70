// spyre/lazy/recording.cpp — how nodes get into a trace: one by one, or joined to the one before under one lock.
//
// The analysis of locks does not follow one that an object holds from its beginning to its end.
#include "spyre/lazy/recording.h"

#include "buffer_access.h"
#include "device_state.h"
#include "images.h"
#include "spyre/lazy/reduction_lowering.h"

namespace spyre::lazy {

using device_sim::TimelinePoint;
using device_sim::Urgency;

bool Device::State::admit(Lock& lock, StreamState& s, Buffer& buffer, bool reads) {
  if (s.trace.uses(buffer)) return true;
  if (buffer.is_tiled()) return false;
  // One graph may go on where another, which will be replayed first, ends.
  const bool may_follow =
      s.capture != nullptr && BufferAccess::spoiled(buffer) == Spoiled::ByCapture;
  if (reads && !may_follow) BufferAccess::raise_if_spoiled(buffer);
  flush_uses(lock, s, buffer, FlushReason::CrossStream, Urgency::Background);
  return true;
}

bool Device::State::admit(Lock& lock, StreamState& s, std::span<const Input> inputs,
                          Buffer& output) {
  for (const Input& input : inputs)
    if (input.kind == Input::Kind::View && !admit(lock, s, *input.view.buffer, true)) return false;
  return admit(lock, s, output, false);
}

bool Device::State::append(Lock& lock, StreamState& s, const Pointwise& op) {
  if (!admit(lock, s, op.inputs, *op.output.buffer)) return false;
  s.trace.append(op);
  return true;
}

bool Device::State::append(Lock& lock, StreamState& s, PreparedPointwise& op,
                           std::span<const PreparedOperand> inputs, const PreparedOperand& output,
                           std::uint32_t source) {
  for (const PreparedOperand& input : inputs)
    if (input.buffer != nullptr && !admit(lock, s, *input.buffer, true)) return false;
  if (!admit(lock, s, *output.buffer, false)) return false;
  s.trace.append(op, inputs, output, source);
  return true;
}

bool Device::State::gathers(const StreamState& s) const {
  const Settings& settings = planner.settings();
  return s.capture == nullptr && settings.mode == Mode::Lazy && !settings.sync;
}

void Device::State::recorded(Lock& lock, StreamState& s) {
  ++counted.dispatches;
  if (!gathers(s)) return keep_or_run(lock, s);
  if (!cut_if_step(lock, s)) flush_at_limit(lock, s);
}

void Device::State::recorded_part(Lock& lock, StreamState& s) {
  ++counted.dispatches;
  if (gathers(s)) flush_at_limit(lock, s);
  else keep_or_run(lock, s);
}

bool Device::State::cut_if_step(Lock& lock, StreamState& s) {
  const auto step = s.steps.observe(s.trace);
  if (step) cut_step(lock, s, *step);
  return step.has_value();
}

void Device::State::flush_at_limit(Lock& lock, StreamState& s) {
  const Settings& settings = planner.settings();
  if (s.trace.nodes().size() >= settings.max_nodes)
    flush(lock, s, FlushReason::NodeLimit, Urgency::Background);
  else if (s.trace.asks_for_more_than(settings.max_pending))
    flush(lock, s, FlushReason::ByteLimit, Urgency::Background);
}

void Device::State::keep_or_run(Lock& lock, StreamState& s) {
  if (s.capture != nullptr) {
    if (s.trace.nodes().size() >= planner.settings().max_nodes) close_segment(lock, s);
    return;
  }
  const bool raises = planner.settings().sync;
  flush(lock, s, FlushReason::EagerMode, Urgency::Waited);
  const TimelinePoint point = card.last_point(s.id());
  lock.unlock();
  wait(s, point);
  if (raises) raise_fault(s);
  lock.lock();
}

Recording::Recording(Device& device, StreamId stream, std::size_t operations)
    : device_(device), lock_(device.state_->mutex), stream_(device.state_->stream(stream)) {
  Device::State& d = *device_.state_;
  const std::size_t recorded = stream_.trace.nodes().size();
  const bool fits = recorded + operations <= d.planner.settings().max_nodes;
  if (recorded != 0 && !fits && d.gathers(stream_))
    d.flush(lock_, stream_, FlushReason::NodeLimit, Urgency::Background);
}

BufferRef Recording::create_buffer(Bytes size) { return device_.state_->new_buffer(size); }

void Recording::added() {
  Trace& trace = stream_.trace;
  // Where the lock was given up, another thread's nodes may stand between: they are units by themselves.
  if (serial_ == trace.serial() && end_ + 1 == trace.nodes().size()) trace.join_last();
  serial_ = trace.serial();
  end_ = trace.nodes().size();
  device_.state_->recorded_part(lock_, stream_);
}

template <typename Body> void Recording::outside(const Body& body) {
  lock_.unlock();
  body(Images(device_, stream_.id()));
  lock_.lock();
  serial_ = 0;
}

void Recording::record(const Pointwise& op) {
  check_rank(op.sizes.size());
  if (device_.state_->append(lock_, stream_, op)) return added();
  outside([&](Images images) { images.record(op); });
}

void Recording::record(PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                       const PreparedOperand& output, std::uint32_t source) {
  if (device_.state_->append(lock_, stream_, op, inputs, output, source)) return added();
  outside([&](Images images) { images.record(op, inputs, output, source); });
}

BufferRef Recording::record(PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                            std::uint32_t source) {
  BufferRef output = create_buffer(op.output_bytes());
  record(op, inputs, {.buffer = output.get()}, source);
  return output;
}

/// The steps of one reduction.
class Recording::Primitives final : public PrimitiveSink {
 public:
  explicit Primitives(Recording& recording) : recording_(recording) {}
  void pointwise(const Pointwise& step) override { recording_.record(step); }
  void reduce(TraceNode::Kind kind, const Reduce& step) override SPYRE_NO_THREAD_SAFETY_ANALYSIS {
    Device::State& d = *recording_.device_.state_;
    d.admit(recording_.lock_, recording_.stream_, *step.input.buffer, true);
    d.admit(recording_.lock_, recording_.stream_, *step.output.buffer, false);
    recording_.stream_.trace.append(kind, step);
    recording_.added();
  }
  BufferRef temporary(Bytes size) override { return recording_.create_buffer(size); }

 private:
  Recording& recording_;
};

void Recording::record(const Reduce& op) {
  check_rank(op.sizes.size());
  if (has_tiled(op)) return outside([&](Images images) { images.record(op); });
  Primitives primitives(*this);
  lower_reduction(op, primitives);
}

void Recording::finish() {
  Device::State& d = *device_.state_;
  if (serial_ == stream_.trace.serial() && d.gathers(stream_)) d.cut_if_step(lock_, stream_);
  lock_.unlock();
}

}  // namespace spyre::lazy
