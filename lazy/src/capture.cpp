// spyre/lazy/capture.cpp — recording without running, and running what was recorded, again and again.
//
// A capture has a stream of its own, which the card does not know. Traces end there only when they
// are as long as they may get; everything that would have to run, wait or read is refused.
#include <algorithm>

#include "buffer_access.h"
#include "device_state.h"
#include "spyre/base/text.h"
#include "spyre/lazy/captured_graph.h"
#include "spyre/lazy/graph_builder.h"
#include "spyre/lazy/graph_printer.h"

namespace spyre::lazy {
namespace {

using device_sim::Urgency;

/// Above all streams of the card, and below what a trace's serial can hold.
constexpr std::uint32_t kFirstCapture = 1U << 16, kCaptures = 1U << 16;

/// The parameters that are seeds of random numbers.
std::vector<std::uint32_t> seeds_of(const Trace& trace) {
  constexpr std::size_t kSeed = 1;  // see kernels/ops/random.h: position, seed, offset
  std::vector<std::uint32_t> seeds;
  for (const TraceNode& node : trace.nodes()) {
    if (node.kind != TraceNode::Kind::Pointwise || !kernels::op({node.code}).info.random) continue;
    const auto inputs = trace.inputs(node);
    if (inputs[kSeed].is_scalar() && inputs[kSeed + 1].is_scalar())
      seeds.push_back(node.first_param + (inputs[0].is_buffer() ? 0 : 1));
  }
  return seeds;
}

/// The buffers that a node reads before any has written them.
std::vector<std::uint32_t> needs_of(const Trace& trace) {
  std::vector<bool> needed(trace.buffers().size());
  for (std::size_t node = 0; node < trace.nodes().size(); ++node)
    for (const TraceOperand& input : trace.inputs(trace.nodes()[node]))
      if (input.is_buffer() && trace.buffers()[input.buffer].first_write >= node)
        needed[input.buffer] = true;
  std::vector<std::uint32_t> needs;
  for (std::uint32_t b = 0; b < needed.size(); ++b)
    if (needed[b]) needs.push_back(b);
  return needs;
}

std::vector<std::uint64_t> shifted(std::span<const std::uint64_t> params,
                                   std::span<const std::uint32_t> seeds, RandomShift random) {
  std::vector<std::uint64_t> result(params.begin(), params.end());
  for (const std::uint32_t at : seeds) {
    if (result[at] != random.captured_seed) continue;
    result[at] = random.seed;
    result[at + 1] += random.offset;
  }
  return result;
}

}  // namespace

std::size_t CapturedGraph::nodes() const {
  std::size_t count = 0;
  for (const auto& segment : segments_) count += segment->trace.nodes().size();
  return count;
}

StreamState* Device::State::capture(StreamId id) {
  const std::size_t at = id.value - kFirstCapture;
  return at < captures.size() && captures[at]->capture != nullptr ? captures[at].get() : nullptr;
}

std::string CapturedGraph::text() const {
  std::string all;
  for (const auto& segment : segments_)
    all += str(all.empty() ? "" : "\n", print(build_graph(segment->trace, segment->facts)));
  return all;
}

StreamState& Device::State::upload_stream(StreamId id, Buffer& target) {
  StreamState& s = stream(id);
  if (s.capture == nullptr) return s;
  if (BufferAccess::has_memory(target) || s.trace.uses(target))
    throw CaptureError(
        "capture: a copy from the host into a tensor with content would be made now and at no "
        "replay; copy into it before a replay instead");
  return card_stream(s.capture->origin_);
}

void Device::State::hold_buffers(Lock& lock, CapturedGraph& graph, const Trace& trace) {
  for (const BufferUse& use : trace.buffers()) {
    Buffer& buffer = *use.buffer;
    const bool has_content = BufferAccess::has_memory(buffer);
    if (!has_content && !buffer.observable()) continue;
    graph.held_.push_back(own(buffer));
    if (has_content) continue;
    give_memory(lock, card_stream(graph.origin_), buffer, false, Urgency::Background);
    if (trace.writes(use)) graph.unwritten_.push_back(own(buffer));
  }
}

void Device::State::close_segment(Lock& lock, StreamState& s) {
  CapturedGraph& graph = *s.capture;
  if (s.trace.empty()) return;
  graph.segments_.push_back(std::make_unique<CapturedGraph::Segment>(s.id()));
  CapturedGraph::Segment& segment = *graph.segments_.back();
  s.trace.move_to(segment.trace);
  const std::size_t results_before = graph.unwritten_.size();
  try {
    hold_buffers(lock, graph, segment.trace);
  } catch (...) {
    for (std::size_t i = results_before; i < graph.unwritten_.size(); ++i)
      BufferAccess::set_spoiled(*graph.unwritten_[i], Spoiled::ByMemory);
    graph.unwritten_.resize(results_before);
    abandon(segment.trace, Spoiled::ByMemory);
    graph.segments_.pop_back();
    throw;
  }
  collect_facts(segment.trace, segment.facts);
  segment.seeds = seeds_of(segment.trace);
  segment.needs = needs_of(segment.trace);
}

void Device::State::spoil_results(StreamState& s) {
  for (const BufferRef& result : s.capture->unwritten_)
    BufferAccess::set_spoiled(*result, Spoiled::ByCapture);
}

StreamId Device::begin_capture(StreamId origin) {
  State& d = *state_;
  const Lock lock(d.mutex);
  d.card_stream(origin);
  const auto idle = std::ranges::find_if(d.captures, [](const auto& s) { return !s->capture; });
  const auto at = static_cast<std::uint32_t>(idle - d.captures.begin());
  if (at == kCaptures)
    throw Unsupported(str("capture: ", kCaptures, " graphs are being captured at once"));
  const StreamId id{kFirstCapture + at};
  if (idle == d.captures.end())
    d.captures.push_back(std::make_unique<StreamState>(id, d.card, d.buffers, d.directives));
  d.captures[at]->capture = std::make_unique<CapturedGraph>(origin);
  return id;
}

std::unique_ptr<CapturedGraph> Device::end_capture(StreamId capture) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.stream(capture);
  d.close_segment(lock, s);
  d.spoil_results(s);
  return std::move(s.capture);
}

void Device::drop_capture(StreamId capture) {
  State& d = *state_;
  std::unique_ptr<CapturedGraph> graph;  // ends without the lock
  const Lock lock(d.mutex);
  StreamState& s = d.stream(capture);
  d.abandon(s.trace, Spoiled::ByCapture);
  d.spoil_results(s);
  for (const auto& segment : s.capture->segments_) d.abandon(segment->trace, Spoiled::ByCapture);
  graph = std::move(s.capture);
}

void Device::State::prepare(CapturedGraph& graph) {
  if (graph.planned_ == planner.settings_version()) return;
  for (const auto& segment : graph.segments_)
    segment->plan = planner.find_or_compile(segment->trace, segment->facts);
  graph.planned_ = planner.settings_version();
}

void Device::prepare(CapturedGraph& graph) {
  State& d = *state_;
  Lock lock(d.mutex);
  d.prepare(graph);
  d.drop_retired(lock);
}

void Device::State::replay_segment(Lock& lock, StreamState& s, CapturedGraph& graph,
                                   std::size_t index, RandomShift random) {
  const CapturedGraph::Segment& segment = *graph.segments_[index];
  const std::span<const BufferUse> uses = segment.trace.buffers();
  for (const std::uint32_t b : segment.needs) BufferAccess::raise_if_spoiled(*uses[b].buffer);
  for (const BufferUse& use : uses)
    flush_uses(lock, s, *use.buffer, FlushReason::Replay, Urgency::Background);
  for (bool relieved = false;; relieved = true) {
    s.choose_flight();
    while (!s.has_awaited(s.next_flight().last))
      await_unless_awaited(lock, s, s.next_flight().last);
    try {
      prepare(graph);
      return launch(s, segment.trace, shifted(segment.trace.params(), segment.seeds, random),
                    segment.plan, Urgency::Background);
    } catch (const OutOfDeviceMemory&) {
      if (relieved) throw;
    }
    relieve_memory(lock);
  }
}

void Device::replay(StreamId stream, CapturedGraph& graph, RandomShift random) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.card_stream(stream);
  d.flush(lock, s, FlushReason::Replay, Urgency::Background);
  const auto set_results = [&](Spoiled state) {
    for (const BufferRef& result : graph.unwritten_) BufferAccess::set_spoiled(*result, state);
  };
  set_results(Spoiled::No);
  try {
    for (std::size_t i = 0; i < graph.segments_.size(); ++i)
      d.replay_segment(lock, s, graph, i, random);
  } catch (...) {
    set_results(Spoiled::ByCapture);
    throw;
  }
  graph.unwritten_.clear();
  ++d.counted.graph_replays;
  d.drop_retired(lock);
}

}  // namespace spyre::lazy
