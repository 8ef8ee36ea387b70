// spyre/kernels/loop_points.cpp — vectors of points side by side: where a program's inputs come from, and where its
// outcome goes.
#include <algorithm>
#include <cstddef>

#include "loop_nest.h"

namespace spyre::kernels {

void LoopNest::prepare_streaming(const Segment& segment) {
  may_stream_ = false;
  const x86::Gp addresses = cc_.newInt64();
  for (const StoreOut& store : segment.stores) {
    const ArgumentSpec& spec = kernel_.spec.arguments[store.argument];
    if (spec.inner != InnerStride::Unit || !VectorIsa::streams(spec.dtype)) continue;
    if (may_stream_) {
      cc_.or_(addresses, cursors_[store.argument].at);
    } else {
      cc_.mov(addresses, cursors_[store.argument].at);
    }
    may_stream_ = true;
  }
  if (!may_stream_) return;
  const x86::Gp streams = cc_.newInt32();
  const x86::Gp no = cc_.newInt32();
  cc_.mov(streams, x86::dword_ptr(frame_, offsetof(CallFrame, streaming)));
  cc_.mov(no, 0);
  cc_.test(addresses, isa_.register_bytes() - 1);
  cc_.cmovnz(streams, no);
  cc_.mov(x86::dword_ptr(frame_, offsetof(CallFrame, row_streams)), streams);
}

bool LoopNest::streams(const StoreOut& store) const {
  const ArgumentSpec& spec = kernel_.spec.arguments[store.argument];
  return spec.inner == InnerStride::Unit && VectorIsa::streams(spec.dtype);
}

void LoopNest::store_lanes(const StoreOut& store, int vector, const Lanes& value,
                           const Active& active, bool streaming) {
  const ArgumentSpec& spec = kernel_.spec.arguments[store.argument];
  const Cursor& cursor = cursors_[store.argument];
  if (spec.inner != InnerStride::Unit)
    return isa_.store_strided(spec.dtype, cursor.at, cursor.stride, value, active);
  const x86::Mem at = x86::ptr(cursor.at, vector * isa_.lanes() * size_of(spec.dtype));
  if (streaming) {
    isa_.store_streaming(spec.dtype, at, value);
  } else {
    isa_.store(spec.dtype, at, value, active);
  }
}

void LoopNest::store_all(const Segment& segment, const std::vector<std::vector<Lanes>>& made,
                         const Active& active) {
  const bool may_stream = may_stream_ && active.all;
  std::vector<std::vector<Lanes>> values;  // by store, by vector
  for (const StoreOut& store : segment.stores) {
    std::vector<Lanes>& row = values.emplace_back();
    for (const std::vector<Lanes>& m : made)
      row.push_back(may_stream ? isa_.in_registers(m[store.position]) : m[store.position]);
  }
  const auto store_those = [&](bool streamable, bool streaming) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (may_stream && streams(segment.stores[i]) != streamable) continue;
      for (std::size_t v = 0; v < made.size(); ++v)
        store_lanes(segment.stores[i], static_cast<int>(v), values[i][v], active, streaming);
    }
  };
  if (!may_stream) return store_those(false, false);
  const asmjit::Label plain = cc_.newLabel();
  const asmjit::Label done = cc_.newLabel();
  cc_.cmp(x86::dword_ptr(frame_, offsetof(CallFrame, row_streams)), 0);
  cc_.jz(plain);
  store_those(true, true);
  cc_.jmp(done);
  cc_.bind(plain);
  store_those(true, false);
  cc_.bind(done);
  store_those(false, false);
}

void LoopNest::emit_points(const Block& block) {
  const std::size_t mark = isa_.mark();
  const Segment& segment = block.segment;
  const Vectors vectors{
      .count = static_cast<int>(block.values.size()),
      .input = [&](std::uint16_t value, int vector) { return input_of(block, value, vector); },
      .shared = block.shared,
      .shared_states = shared_states(block)};
  const std::vector<std::vector<Lanes>> made = micro_.emit(segment, vectors, block.active);
  for (std::size_t v = 0; v < made.size(); ++v) {
    for (const Binding& save : segment.saves) {
      const int offset = static_cast<int>(v) * isa_.lanes() * made[v][save.position].width;
      isa_.store_raw(x86::ptr(slots_[slot_of(save.value)].at, offset), made[v][save.position]);
    }
    for (const Binding& state : segment.results)
      if (!is_handed_over(block, state, v))
        update_state((*block.states[v])[state_index(state.value)], made[v][state.position],
                     block.active);
  }
  store_all(segment, made, block.active);
  isa_.release_since(mark, [](const x86::Reg&) { return false; });
}

/// Loads happen where the program first asks, so that values of several vectors do not wait in registers.
InputLanes LoopNest::input_of(const Block& block, std::uint16_t value, int vector) {
  const auto v = static_cast<std::size_t>(vector);
  const std::size_t steps = kernel_.spec.steps.size();
  if (value == kernel_.position_value()) return {.lanes = position_of(vector), .temporary = true};
  if (value > steps && state_index(value) < kernel_.state_count())
    return {.lanes = (*block.states[v])[state_index(value)]};
  const auto holds = [value](const std::vector<std::uint16_t>& list) {
    return std::ranges::find(list, value) != list.end();
  };
  if (value < steps && holds(block.segment.restores)) {
    const Lane lane = lane_of(kernel_.spec.steps[value].result);
    const int offset = vector * isa_.lanes() * width_of(lane);
    return {.lanes = isa_.load_raw(lane, x86::ptr(slots_[slot_of(value)].at, offset)),
            .temporary = true};
  }
  const bool at_points =
      value < steps && holds(block.segment.loads) &&
      !(block.row_constants_loaded && argument_of(value).inner == InnerStride::Zero);
  if (!at_points) return {.lanes = (*block.values[v])[value]};
  const std::uint16_t argument = kernel_.spec.steps[value].argument;
  return {.lanes = load_lanes(argument, cursors_[argument], vector, block.active),
          .temporary = true};
}

Lanes LoopNest::position_of(int vector) {
  if (!position_varies_along_lanes_) return isa_.splat(position_);
  const x86::Gp first = cc_.newInt64();
  cc_.lea(first, x86::ptr(position_, vector * isa_.lanes()));
  return isa_.each_part(Inst::kIdVpaddq, Lane::I64, isa_.splat(first), lane_index_);
}

bool LoopNest::is_handed_over(const Block& block, const Binding& state, std::size_t vector) const {
  const std::size_t next = vector + static_cast<std::size_t>(block.shared);
  if (block.shared == 0 || next >= block.states.size()) return false;
  const std::size_t i = state_index(state.value);
  return (*block.states[vector])[i].part[0].id() == (*block.states[next])[i].part[0].id();
}

/// Where the program reads and where it makes the states that later vectors continue.
std::vector<Binding> LoopNest::shared_states(const Block& block) const {
  std::vector<Binding> states;
  const MicroProgram& program = block.segment.program;
  for (const Binding& made : block.segment.results) {
    if (!is_handed_over(block, made, 0)) continue;
    for (std::size_t i = 0; i < program.size(); ++i)
      if (program[i].op == Micro::Input && program[i].imm == made.value)
        states.push_back({static_cast<std::uint16_t>(i), made.position});
  }
  return states;
}

void LoopNest::update_state(Lanes& state, const Lanes& value, const Active& active) {
  const Lanes next =
      active.all ? value : isa_.select(state.width == 8 ? active.wide : active.mask, value, state);
  for (std::size_t p = 0; p < state.parts(); ++p)
    cc_.emit(Inst::kIdVmovaps, state.part[p], isa_.reg(next, p));
}

}  // namespace spyre::kernels
