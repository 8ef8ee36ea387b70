// spyre/kernels/loop_nest.cpp — cursors, segments and reduction states.
#include "loop_nest.h"

#include <algorithm>
#include <cstddef>

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

void LoopNest::advance_strided() {
  for (const Cursor& cursor : cursors_)
    if (cursor.step.isValid()) cc_.add(cursor.at, cursor.step);
}

void LoopNest::advance_dense(int copies) {
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    const Cursor& cursor = cursors_[i];
    const ArgumentSpec& spec = kernel_.spec.arguments[i];
    if (cursor.at.isValid() && !cursor.step.isValid() && spec.inner == InnerStride::Unit)
      cc_.add(cursor.at, copies * isa_.lanes() * size_of(spec.dtype));
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const int width = width_of(lane_of(kernel_.spec.steps[kernel_.saved[i]].result));
    if (slots_[i].at.isValid()) cc_.add(slots_[i].at, copies * isa_.lanes() * width);
  }
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

void LoopNest::store_lanes(std::uint16_t argument, const Cursor& cursor, int copy,
                           const Lanes& value, const Active& active) {
  const ArgumentSpec& spec = kernel_.spec.arguments[argument];
  if (spec.inner == InnerStride::Unit) {
    store_dense(argument, x86::ptr(cursor.at, copy * isa_.lanes() * size_of(spec.dtype)), value,
                active);
  } else {
    isa_.store_strided(spec.dtype, cursor.at, cursor.stride, value, active);
  }
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

void LoopNest::store_dense(std::uint16_t argument, const x86::Mem& at, const Lanes& value,
                           const Active& active) {
  const DType type = kernel_.spec.arguments[argument].dtype;
  if (!may_stream_ || !active.all || !VectorIsa::streams(type))
    return isa_.store(type, at, value, active);
  const Lanes in_registers = isa_.in_registers(value);
  const asmjit::Label plain = cc_.newLabel();
  const asmjit::Label done = cc_.newLabel();
  cc_.cmp(x86::dword_ptr(frame_, offsetof(CallFrame, row_streams)), 0);
  cc_.jz(plain);
  isa_.store_streaming(type, at, in_registers);
  cc_.jmp(done);
  cc_.bind(plain);
  isa_.store(type, at, in_registers, active);
  cc_.bind(done);
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

void LoopNest::emit_points(const Segment& segment, Values& values, std::vector<Lanes>& states,
                           int copy, const Active& active, bool row_constants_loaded) {
  const std::size_t mark = isa_.mark();
  for (const std::uint16_t step : segment.loads) {
    if (row_constants_loaded && argument_of(step).inner == InnerStride::Zero) continue;
    const std::uint16_t argument = kernel_.spec.steps[step].argument;
    values[step] = load_lanes(argument, cursors_[argument], copy, active);
  }
  for (const std::uint16_t step : segment.restores) {
    const Lane lane = lane_of(kernel_.spec.steps[step].result);
    const int offset = copy * isa_.lanes() * width_of(lane);
    values[step] = isa_.load_raw(lane, x86::ptr(slots_[slot_of(step)].at, offset));
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    values[kernel_.spec.steps.size() + 1 + i] = states[i];
  const std::vector<Lanes> made = micro_.emit(segment, values, active);
  for (const Binding& save : segment.saves) {
    const int offset = copy * isa_.lanes() * made[save.position].width;
    isa_.store_raw(x86::ptr(slots_[slot_of(save.value)].at, offset), made[save.position]);
  }
  for (const Binding& state : segment.results)
    update_state(states[state_index(state.value)], made[state.position], active);
  for (const StoreOut& store : segment.stores)
    store_lanes(store.argument, cursors_[store.argument], copy, made[store.position], active);
  isa_.release_since(mark, [](const x86::Reg&) { return false; });
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

void LoopNest::set_position(const x86::Gp& position, bool along_lanes, Values& values) {
  Lanes& value = values[kernel_.position_value()];
  value = isa_.splat(position);
  if (along_lanes) value = isa_.each_part(Inst::kIdVpaddq, Lane::I64, value, lane_index_);
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

/// Masks cost little beside much work, and compiling takes half as long. Partial vectors are dearer on AVX2.
bool LoopNest::emits_full_vectors(const Segment& points) const {
  return work_of(points) <= (isa_.lanes() == 16 ? 150 : 400);
}

}  // namespace spyre::kernels
