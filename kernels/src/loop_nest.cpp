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
    for (std::size_t k = 0; k < r.states.size(); ++k)
      reset_state(r.states[k], states[state_index(static_cast<std::uint16_t>(r.first_state + k))]);
  }
}

void LoopNest::reset_state(const StateRule& rule, Lanes& state) {
  const x86::Vec identity = isa_.materialise(state.width, rule.identity);
  for (std::size_t p = 0; p < state.parts(); ++p)
    cc_.emit(Inst::kIdVmovaps, state.part[p], identity);
}

x86::Gp LoopNest::min_with_lanes(const x86::Gp& left) {
  const x86::Gp count = cc_.newInt64("count");
  cc_.mov(count, isa_.lanes());
  cc_.cmp(left, count);
  cc_.cmovl(count, left);
  return count;
}

}  // namespace spyre::kernels
