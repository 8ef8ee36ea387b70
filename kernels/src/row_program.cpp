// spyre/kernels/row_program.cpp — passes over one row at a time, with reductions between them.
//
// Lane i of 16 takes elements i, i + 16, …; an instruction set with 8 lanes keeps two groups of running states,
// so the order of every sum is the same on both.
#include <algorithm>
#include <cstddef>

#include "loop_nest.h"

namespace spyre::kernels {
namespace {

constexpr int kReductionLanes = 16;

/// The outcome does not depend on the order, so that more than 16 running states may be kept.
bool any_order(const Step& reduce) {
  const bool accumulates =
      reduce.reduction == Reduction::Sum || reduce.reduction == Reduction::Prod;
  return !accumulates || !is_float(reduce.compute);
}

/// Confined to one compilation.
class RowProgram final : public LoopNest {
 public:
  using LoopNest::LoopNest;

 private:
  int groups() const { return kReductionLanes / isa_.lanes(); }

  void emit_loops() override {
    make_states();
    const asmjit::Label next_row = cc_.newLabel();
    const x86::Gp rows = cc_.newInt64("rows");
    cc_.mov(rows, frame_field(offsetof(CallFrame, outer)));
    cc_.bind(next_row);
    for (std::size_t p = 0; p < kernel_.passes.size(); ++p) {
      emit_results(kernel_.passes[p].before);
      emit_pass(static_cast<std::uint16_t>(p));
    }
    emit_results(kernel_.after);
    advance_starts_along_outer();
    cc_.dec(rows);
    cc_.jnz(next_row);
  }

  /// Vectors of points in one turn of the main loop of any pass.
  int copies_of(const Segment& points) const { return groups() * (work_of(points) <= 8 ? 2 : 1); }

  /// One set per vector of a turn; reductions with a fixed order share those of their group.
  void make_states() {
    int copies = groups();
    for (const Pass& pass : kernel_.passes) copies = std::max(copies, copies_of(pass.points));
    for (int copy = 0; copy < copies; ++copy) {
      states_.push_back(new_states());
      if (copy < groups()) continue;
      for (const LoweredReduction& r : kernel_.reductions)
        for (std::size_t k = 0; k < r.states.size() && !any_order(kernel_.spec.steps[r.step]);
             ++k) {
          const std::size_t i = state_index(static_cast<std::uint16_t>(r.first_state + k));
          states_.back()[i] = states_[static_cast<std::size_t>(copy % groups())][i];
        }
    }
  }

  /// Values of which there is one per row: computed on every lane alike.
  void emit_results(const Segment& segment) {
    load_row_constants(segment, values_);
    const std::vector<Lanes> made = micro_.emit(segment, values_, Active{});
    publish(segment, made, values_);
    for (const StoreOut& store : segment.stores) {
      const x86::Gp at = cc_.newIntPtr();
      cc_.mov(at, pointer_slot(store.argument));
      isa_.store_first(kernel_.spec.arguments[store.argument].dtype, x86::ptr(at),
                       made[store.position]);
    }
  }

  void emit_pass(std::uint16_t pass) {
    const Segment& points = kernel_.passes[pass].points;
    load_row_constants(points, values_);
    for (std::vector<Lanes>& states : states_) reset_states(pass, states);
    open_cursors(points);
    prepare_streaming(points);
    const x86::Gp left = cc_.newInt64("left");
    cc_.mov(left, frame_field(offsetof(CallFrame, inner)));
    if (kernel_.reads_position()) {
      position_ = cc_.newInt64("position");
      cc_.mov(position_, 0);
    }
    if (emits_full_vectors(points)) emit_full(points, left);
    emit_masked(points, left);
    for (const LoweredReduction& r : kernel_.reductions)
      if (r.pass == pass) fold(r);
  }

  void emit_full(const Segment& points, const x86::Gp& left) {
    const asmjit::Label loop = cc_.newLabel();
    const asmjit::Label done = cc_.newLabel();
    const int copies = copies_of(points);
    const int block = copies * isa_.lanes();
    cc_.cmp(left, block);
    cc_.jl(done);
    cc_.align(asmjit::AlignMode::kCode, 32);
    cc_.bind(loop);
    for (int copy = 0; copy < copies; ++copy) emit_vector(points, copy, copy, Active{});
    advance_dense(copies);
    cc_.sub(left, block);
    cc_.cmp(left, block);
    cc_.jge(loop);
    cc_.bind(done);
  }

  void emit_masked(const Segment& points, const x86::Gp& left) {
    const asmjit::Label loop = cc_.newLabel();
    const asmjit::Label done = cc_.newLabel();
    cc_.test(left, left);
    cc_.jle(done);
    cc_.bind(loop);
    for (int group = 0; group < groups(); ++group) {
      emit_vector(points, 0, group, isa_.first_lanes(min_with_lanes(left)));
      advance_dense(1);
      cc_.sub(left, isa_.lanes());
      if (group + 1 < groups()) cc_.jle(done);
    }
    cc_.jg(loop);
    cc_.bind(done);
  }

  void emit_vector(const Segment& points, int copy, int states, const Active& active) {
    if (kernel_.reads_position()) set_position(position_, true, values_);
    emit_points(points, values_, states_[static_cast<std::size_t>(states)], copy, active, true);
    advance_strided();
    if (kernel_.reads_position()) cc_.add(position_, isa_.lanes());
  }

  /// Lane i with lane i + 8, then + 4, + 2, + 1; the outcome on every lane.
  void fold(const LoweredReduction& r) {
    std::vector<Lanes> state = states_of(r, 0);
    const bool all_sets = any_order(kernel_.spec.steps[r.step]);
    const std::size_t sets = all_sets ? states_.size() : static_cast<std::size_t>(groups());
    for (std::size_t set = 1; set < sets; ++set) state = combined(r, state, states_of(r, set));
    for (int distance = isa_.lanes() / 2; distance > 0; distance /= 2) {
      std::vector<Lanes> partner;
      for (const Lanes& part : state) partner.push_back(isa_.shifted(part, distance));
      state = combined(r, state, partner);
    }
    for (std::size_t k = 0; k < state.size(); ++k)
      values_[r.first_state + k] = isa_.first_on_all(state[k]);
  }

  std::vector<Lanes> states_of(const LoweredReduction& r, std::size_t set) const {
    std::vector<Lanes> state;
    for (std::size_t k = 0; k < r.states.size(); ++k)
      state.push_back(states_[set][state_index(static_cast<std::uint16_t>(r.first_state + k))]);
    return state;
  }

  std::vector<Lanes> combined(const LoweredReduction& r, const std::vector<Lanes>& left,
                              const std::vector<Lanes>& right) {
    for (std::size_t k = 0; k < left.size(); ++k) {
      const auto state = static_cast<std::uint16_t>(r.first_state + k);
      values_[state] = left[k];
      values_[kernel_.partner(state)] = right[k];
    }
    const std::vector<Lanes> made = micro_.emit(r.combine, values_, Active{});
    std::vector<Lanes> result;
    for (const Binding& binding : r.combine.results) result.push_back(made[binding.position]);
    return result;
  }

  std::vector<std::vector<Lanes>> states_;  // by set, by state
  x86::Gp position_;
};

}  // namespace

std::unique_ptr<LoopNest> make_row_program(const LoweredKernel& kernel, VectorIsa& isa,
                                           x86::Gp frame) {
  return std::make_unique<RowProgram>(kernel, isa, frame);
}

}  // namespace spyre::kernels
