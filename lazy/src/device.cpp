// spyre/lazy/device.cpp — recording and settings: the door, with the lock.
#include "spyre/lazy/device.h"

#include <algorithm>

#include "buffer_access.h"
#include "device_state.h"
#include "images.h"
#include "spyre/base/text.h"
#include "spyre/lazy/recording.h"
#include "tiled_content.h"

namespace spyre::lazy {
namespace {

bool is_empty(std::span<const std::int64_t> sizes) {
  return std::ranges::find(sizes, 0) != sizes.end();
}

}  // namespace

void check_rank(std::size_t rank) {
  if (rank > kMaxRank) throw Unsupported(str("rank ", rank, " on the device; at most ", kMaxRank));
}

Device::Device(device_sim::DeviceSpec spec, Settings settings,
               std::shared_ptr<const device_sim::ModelledHost> host)
    : state_(std::make_unique<State>(*this, std::move(spec), std::move(host), settings)) {}

Device::~Device() = default;

device_sim::Card& Device::card() { return state_->card; }

BufferRef Device::create_buffer(Bytes size) {
  const Lock lock(state_->mutex);
  return state_->new_buffer(size);
}

BufferRef Device::create_buffer(Tiled tiled) {
  const Lock lock(state_->mutex);
  BufferRef sticks = state_->new_buffer(tiled.bytes());
  // Uncounted: its sticks are what the card holds.
  BufferRef image = BufferRef::adopt(state_->buffers.take(tiled.image_bytes()));
  BufferAccess::tiled(*image) = std::make_unique<TiledContent>(
      TiledContent{.tiled = std::move(tiled), .sticks = std::move(sticks)});
  return image;
}

device_sim::Directive Device::exchange_directive(const device_sim::Directive& directive) {
  device_sim::check(directive, state_->card.domains());
  const Lock lock(state_->mutex);
  return state_->directives.exchange_current(directive);
}

OwnedTally Device::owned() const {
  const Lock lock(state_->mutex);
  return state_->owners.tally();
}

void Device::reset_owned_peak() {
  const Lock lock(state_->mutex);
  state_->owners.reset_peak();
}

void Device::reset_owned_totals() {
  const Lock lock(state_->mutex);
  state_->owners.reset_accumulated();
  state_->memory_reliefs = 0;
  state_->card.reset_memory_totals();
}

void Device::set_mark_end(std::function<void(std::uintptr_t, Bytes)> end) {
  const Lock lock(state_->mutex);
  state_->buffers.set_mark_end(std::move(end));
}

void Device::record(StreamId stream, const Pointwise& op) {
  check_rank(op.sizes.size());
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.stream(stream);
  if (is_empty(op.sizes)) return;
  if (d.append(lock, s, op)) return d.recorded(lock, s);
  lock.unlock();
  Images(*this, stream).record(op);
}

void Device::record(StreamId stream, PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                    const PreparedOperand& output, std::uint32_t source) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.stream(stream);
  if (d.append(lock, s, op, inputs, output, source)) return d.recorded(lock, s);
  lock.unlock();
  Images(*this, stream).record(op, inputs, output, source);
}

BufferRef Device::record(StreamId stream, PreparedPointwise& op,
                         std::span<const PreparedOperand> inputs, std::uint32_t source) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.stream(stream);
  BufferRef output = d.new_buffer(op.output_bytes());
  const PreparedOperand whole{.buffer = output.get()};
  if (d.append(lock, s, op, inputs, whole, source)) {
    d.recorded(lock, s);
    return output;
  }
  lock.unlock();
  Images(*this, stream).record(op, inputs, whole, source);
  return output;
}

void Device::record(StreamId stream, const Reduce& op) {
  Recording recording(*this, stream, 1);
  recording.record(op);
  recording.finish();
}

void Device::record(StreamId stream, const Library& op) {
  for (const auto operands : {op.inputs, op.outputs})
    for (const LibraryOperand& operand : operands) check_rank(operand.sizes.size());
  if (has_tiled(op)) return Images(*this, stream).record(op);
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.stream(stream);
  for (const LibraryOperand& input : op.inputs) d.admit(lock, s, *input.buffer, true);
  for (const LibraryOperand& output : op.outputs) d.admit(lock, s, *output.buffer, false);
  s.trace.append(op, d.planner.library_call(op));
  d.recorded(lock, s);
}

void Device::configure(const Settings& settings) {
  State& d = *state_;
  Lock lock(d.mutex);
  if (settings == d.planner.settings()) return;
  d.flush_all(lock, FlushReason::Settings, device_sim::Urgency::Background);
  d.planner.configure(settings);
  d.drop_retired(lock);
}

Settings Device::settings() const {
  const Lock lock(state_->mutex);
  return state_->planner.settings();
}

Stats Device::stats() const {
  State& d = *state_;
  const Lock lock(d.mutex);
  Stats stats = d.counted;
  stats.plan_cache = d.planner.plan_counts();
  stats.plans_predicted = d.planner.plans_predicted();
  stats.buffers_made = d.buffers.made();
  stats.plan_misses = d.planner.misses();
  stats.library_cache = d.planner.call_counts();
  stats.kernel_cache = d.planner.kernels().counts();
  stats.kernels_compiled = d.planner.kernels().kernels_compiled();
  stats.compile_ns = d.planner.kernels().compile_nanoseconds();
  stats.card = d.card.counters();
  stats.memory = d.card.memory_stats();
  return stats;
}

void Device::reset_stats() {
  State& d = *state_;
  const Lock lock(d.mutex);
  d.counted = {};
  d.planner.reset_counts();
  d.card.reset_counters();
}

Bytes Device::empty_cache() {
  State& d = *state_;
  Lock lock(d.mutex);
  d.planner.clear();
  d.drop_retired(lock);
  lock.unlock();
  return d.card.trim();
}

void Device::set_hash_mask(unsigned bits) {
  State& d = *state_;
  Lock lock(d.mutex);
  d.planner.clear();
  d.planner.set_hash_mask(bits);
  d.drop_retired(lock);
}

void Device::set_memory_pressure(std::function<void()> pressure) {
  const Lock lock(state_->mutex);
  state_->memory_pressure = std::move(pressure);
}

std::uint64_t Device::memory_reliefs() const {
  const Lock lock(state_->mutex);
  return state_->memory_reliefs;
}

void Device::set_source_text(std::function<std::string(std::uint32_t)> text) {
  const Lock lock(state_->mutex);
  state_->source_text = std::move(text);
}

}  // namespace spyre::lazy
