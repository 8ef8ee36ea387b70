// spyre/kernels/loop_nest.cpp — cursors, segments and reduction states.
#include "loop_nest.h"

#include <algorithm>
#include <cstddef>

#include "register_need.h"
#include "spyre/base/error.h"

namespace spyre::kernels {

LoopNest::LoopNest(const LoweredKernel& kernel, VectorIsa& isa, x86::Gp frame)
    : kernel_(kernel),
      isa_(isa),
      cc_(isa.cc),
      frame_(frame),
      pointers_(cc_.newIntPtr("pointers")),
      strides_(cc_.newIntPtr("strides")),
      micro_(isa, x86::dword_ptr(frame, offsetof(CallFrame, fault))),
      values_(kernel.value_count()),
      cursors_(kernel.spec.arguments.size()),
      slots_(kernel.saved.size()),
      offsets_(kernel.spec.arguments.size()) {}

void LoopNest::emit() {
  cc_.mov(pointers_, frame_field(offsetof(CallFrame, pointers)));
  cc_.mov(strides_, frame_field(offsetof(CallFrame, strides)));
  emit_uniform();
  prepare_counters();
  emit_loops();
}

void LoopNest::emit_uniform() {
  const Segment& segment = kernel_.uniform;
  if (segment.loads.empty() && segment.program.empty()) return;
  const x86::Gp params = cc_.newIntPtr("params");
  cc_.mov(params, frame_field(offsetof(CallFrame, params)));
  for (const std::uint16_t step : segment.loads) {
    const Step& s = kernel_.spec.steps[step];
    values_[step] = isa_.load_splat(s.result, x86::ptr(params, s.argument * 8));
  }
  publish(segment, micro_.emit(segment, values_, Active{}), values_);
}

void LoopNest::prepare_counters() {
  const std::vector<ArgumentSpec>& arguments = kernel_.spec.arguments;
  const bool counts = std::ranges::any_of(
      arguments, [](const ArgumentSpec& a) { return a.kind == ArgumentSpec::Kind::Iota; });
  if (counts || kernel_.reads_position()) lane_index_ = isa_.lane_index();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != ArgumentSpec::Kind::Iota || arguments[i].inner == InnerStride::Zero)
      continue;
    const x86::Gp stride = cc_.newInt64();
    cc_.mov(stride, stride_slot(i, true));
    offsets_[i] = isa_.direct(Micro::Mul, Lane::I64) != 0
                      ? isa_.each_part(isa_.direct(Micro::Mul, Lane::I64), Lane::I64, lane_index_,
                                       isa_.splat(stride))
                      : isa_.multiply_i64(lane_index_, isa_.splat(stride));
  }
}

const ArgumentSpec& LoopNest::argument_of(std::uint16_t step) const {
  return kernel_.spec.arguments[kernel_.spec.steps[step].argument];
}

bool LoopNest::is_iota(std::uint16_t argument) const {
  return kernel_.spec.arguments[argument].kind == ArgumentSpec::Kind::Iota;
}

x86::Mem LoopNest::stride_slot(std::size_t argument, bool inner) const {
  return x86::qword_ptr(strides_, static_cast<int>(argument) * 16 + (inner ? 8 : 0));
}

void LoopNest::open_cursor(std::uint16_t argument) {
  Cursor& cursor = cursors_[argument];
  if (cursor.at.isValid()) return;
  cursor.at = cc_.newInt64("a%u", unsigned{argument});
  cc_.mov(cursor.at, pointer_slot(argument));
  const ArgumentSpec& spec = kernel_.spec.arguments[argument];
  const bool counts = spec.kind == ArgumentSpec::Kind::Iota && spec.inner != InnerStride::Zero;
  const bool zero_store = spec.kind == ArgumentSpec::Kind::Store && spec.inner == InnerStride::Zero;
  if (!counts && spec.inner != InnerStride::Any && !zero_store) return;
  cursor.stride = cc_.newInt64();
  cursor.step = cc_.newInt64();
  cc_.mov(cursor.stride, stride_slot(argument, true));
  cc_.imul(cursor.step, cursor.stride, isa_.lanes());
}

std::size_t LoopNest::slot_of(std::uint16_t step) const {
  return static_cast<std::size_t>(std::ranges::find(kernel_.saved, step) - kernel_.saved.begin());
}

void LoopNest::open_slot(std::uint16_t step) {
  Cursor& cursor = slots_[slot_of(step)];
  if (cursor.at.isValid()) return;
  cursor.at = cc_.newIntPtr("slot%u", static_cast<unsigned>(slot_of(step)));
  cc_.mov(cursor.at, frame_field(offsetof(CallFrame, slots)));
  cc_.mov(cursor.at, x86::qword_ptr(cursor.at, static_cast<int>(slot_of(step)) * 8));
}

void LoopNest::open_cursors(const Segment& segment) {
  std::ranges::fill(cursors_, Cursor{});
  std::ranges::fill(slots_, Cursor{});
  for (const std::uint16_t step : segment.loads) open_cursor(kernel_.spec.steps[step].argument);
  for (const StoreOut& store : segment.stores) open_cursor(store.argument);
  for (const std::uint16_t step : segment.restores) open_slot(step);
  for (const Binding& save : segment.saves) open_slot(save.value);
}

void LoopNest::advance(int vectors) {
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    const Cursor& cursor = cursors_[i];
    const ArgumentSpec& spec = kernel_.spec.arguments[i];
    if (cursor.step.isValid()) {
      cc_.add(cursor.at, cursor.step);
    } else if (cursor.at.isValid() && spec.inner == InnerStride::Unit) {
      cc_.add(cursor.at, vectors * isa_.lanes() * size_of(spec.dtype));
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const int width = width_of(lane_of(kernel_.spec.steps[kernel_.saved[i]].result));
    if (slots_[i].at.isValid()) cc_.add(slots_[i].at, vectors * isa_.lanes() * width);
  }
  if (position_varies_along_lanes_) cc_.add(position_, vectors * isa_.lanes());
}

void LoopNest::advance_starts_along_outer() {
  for (std::size_t i = 0; i < kernel_.spec.arguments.size(); ++i) {
    const x86::Gp stride = cc_.newInt64();
    cc_.mov(stride, stride_slot(i, false));
    cc_.add(pointer_slot(i), stride);
  }
}

void LoopNest::advance_starts_along_inner(int count) {
  for (std::size_t i = 0; i < kernel_.spec.arguments.size(); ++i) {
    const x86::Gp stride = cc_.newInt64();
    cc_.imul(stride, stride_slot(i, true), count);
    cc_.add(pointer_slot(i), stride);
  }
}

Lanes LoopNest::load_lanes(std::uint16_t argument, const Cursor& cursor, int copy,
                           const Active& active) {
  const ArgumentSpec& spec = kernel_.spec.arguments[argument];
  if (spec.kind == ArgumentSpec::Kind::Iota) {
    Lanes start = isa_.splat(cursor.at);
    if (spec.inner == InnerStride::Zero) return start;
    return isa_.each_part(Inst::kIdVpaddq, Lane::I64, start, offsets_[argument]);
  }
  if (spec.inner == InnerStride::Zero) return isa_.load_splat(spec.dtype, x86::ptr(cursor.at));
  if (spec.inner == InnerStride::Any)
    return isa_.load_strided(spec.dtype, cursor.at, cursor.stride, active);
  return isa_.load(spec.dtype, x86::ptr(cursor.at, copy * isa_.lanes() * size_of(spec.dtype)),
                   active);
}

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

void LoopNest::load_row_constants(const Segment& segment, Values& values) {
  for (const std::uint16_t step : segment.loads) {
    if (argument_of(step).inner != InnerStride::Zero) continue;
    Cursor start;
    start.at = cc_.newInt64();
    cc_.mov(start.at, pointer_slot(kernel_.spec.steps[step].argument));
    values[step] = load_lanes(kernel_.spec.steps[step].argument, start, 0, Active{});
  }
}

void LoopNest::publish(const Segment& segment, const std::vector<Lanes>& made, Values& values) {
  for (const Binding& binding : segment.results) values[binding.value] = made[binding.position];
}

void LoopNest::emit_points(const Block& block) {
  const std::size_t mark = isa_.mark();
  const Segment& segment = block.segment;
  const Vectors vectors{.count = static_cast<int>(block.values.size()),
                        .input = [&](std::uint16_t value,
                                     int vector) { return input_of(block, value, vector); },
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
  if (value == kernel_.position_value())
    return {.lanes = position_of(vector), .temporary = true};
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
  const bool at_points = value < steps && holds(block.segment.loads) &&
                         !(block.row_constants_loaded &&
                           argument_of(value).inner == InnerStride::Zero);
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

void LoopNest::emit_along(const x86::Gp& left, int vectors, int phases, const EmitVectors& emit) {
  if (vectors > 0) {
    const asmjit::Label loop = cc_.newLabel();
    const asmjit::Label done = cc_.newLabel();
    const int block = vectors * isa_.lanes();
    cc_.cmp(left, block);
    cc_.jl(done);
    cc_.align(asmjit::AlignMode::kCode, 32);
    cc_.bind(loop);
    emit(vectors, 0, Active{});
    cc_.sub(left, block);
    cc_.cmp(left, block);
    cc_.jge(loop);
    cc_.bind(done);
  }
  const asmjit::Label loop = cc_.newLabel();
  const asmjit::Label done = cc_.newLabel();
  cc_.test(left, left);
  cc_.jle(done);
  cc_.bind(loop);
  for (int phase = 0; phase < phases; ++phase) {
    if (phase > 0) cc_.jle(done);
    emit(1, phase, isa_.first_lanes(min_with_lanes(left)));
    cc_.sub(left, isa_.lanes());
  }
  cc_.jg(loop);
  cc_.bind(done);
}

void LoopNest::update_state(Lanes& state, const Lanes& value, const Active& active) {
  const Lanes next =
      active.all ? value : isa_.select(state.width == 8 ? active.wide : active.mask, value, state);
  for (std::size_t p = 0; p < state.parts(); ++p)
    cc_.emit(Inst::kIdVmovaps, state.part[p], isa_.reg(next, p));
}

std::vector<Lanes> LoopNest::new_states() const {
  std::vector<Lanes> states;
  for (const LoweredReduction& r : kernel_.reductions) {
    for (const StateRule& rule : r.states) {
      Lanes state{.lane = rule.lane, .width = width_of(rule.lane)};
      for (std::size_t p = 0; p < state.parts(); ++p) state.part[p] = isa_.fresh();
      states.push_back(state);
    }
  }
  return states;
}

void LoopNest::reset_states(std::uint16_t pass, std::vector<Lanes>& states) {
  for (const LoweredReduction& r : kernel_.reductions) {
    if (r.pass != pass) continue;
    for (std::size_t k = 0; k < r.states.size(); ++k) {
      Lanes& state = states[state_index(static_cast<std::uint16_t>(r.first_state + k))];
      const x86::Vec identity = isa_.materialise(state.width, r.states[k].identity);
      for (std::size_t p = 0; p < state.parts(); ++p)
        cc_.emit(Inst::kIdVmovaps, state.part[p], identity);
    }
  }
}

x86::Gp LoopNest::min_with_lanes(const x86::Gp& left) {
  const x86::Gp count = cc_.newInt64("count");
  cc_.mov(count, isa_.lanes());
  cc_.cmp(left, count);
  cc_.cmovl(count, left);
  return count;
}

int LoopNest::work_of(const Segment& segment) {
  return static_cast<int>(std::ranges::count_if(segment.program, [](const MicroInstruction& in) {
    return in.op != Micro::Const && in.op != Micro::Input;
  }));
}

bool LoopNest::is_strided(const Segment& segment) const {
  const auto strided = [&](std::uint16_t argument) {
    const ArgumentSpec& a = kernel_.spec.arguments[argument];
    if (a.kind == ArgumentSpec::Kind::Iota) return a.inner != InnerStride::Zero;
    return a.inner == InnerStride::Any ||
           (a.kind == ArgumentSpec::Kind::Store && a.inner == InnerStride::Zero);
  };
  return std::ranges::any_of(segment.loads, [&](std::uint16_t step) {
           return strided(kernel_.spec.steps[step].argument);
         }) ||
         std::ranges::any_of(segment.stores,
                             [&](const StoreOut& store) { return strided(store.argument); });
}

namespace {

/// Registers of an instruction set, less those that single micro-ops take in passing.
int usable_registers(int lanes) { return (lanes == 16 ? 32 : 16) - 3; }
constexpr int kUsableMasks = 6;
/// Instructions that a loop may have in all its vectors together: more takes longer to compile than it gains.
constexpr int kMostInstructions = 320;
/// Programs so short are bound by memory.
constexpr int kShort = 24;

}  // namespace

/// Masks cost little beside much work, and compiling takes half as long. Partial vectors are dearer on AVX2.
int LoopNest::side_by_side(const Segment& points, int kept) const {
  const int work = work_of(points);
  if (work > (isa_.lanes() == 16 ? 150 : 400)) return 0;
  if (is_strided(points)) return 1;
  const RegisterNeed need = register_need(points, kernel_.spec);
  const int room = usable_registers(isa_.lanes()) - kept;
  const int most = isa_.lanes() == 16 && work >= kShort ? 8 : 4;
  const int masks = isa_.lanes() == 16 ? need.masks : 0;
  const int vectors = need.vectors + (isa_.lanes() == 16 ? 0 : need.masks);
  int count = 1;
  while (2 * count <= most && 2 * count * vectors <= room && 2 * count * masks <= kUsableMasks &&
         2 * count * work <= kMostInstructions)
    count *= 2;
  return count;
}

void LoopNest::park_uniforms(const Segment& points, int vectors, int kept) {
  int room = usable_registers(isa_.lanes()) - kept -
             std::max(vectors, 1) * register_need(points, kernel_.spec).vectors;
  for (const Binding& binding : kernel_.uniform.results) {
    Lanes& value = values_[binding.value];
    if (value.lane == Lane::Mask || !value.in_registers()) continue;
    room -= 1;
    if (room < 0) value = isa_.parked(value);
  }
}

}  // namespace spyre::kernels
