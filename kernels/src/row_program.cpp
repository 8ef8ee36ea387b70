// spyre/kernels/row_program.cpp — passes over one row at a time, with reductions between them.
//
// Lane i of 16 takes elements i, i + 16, …; an instruction set with 8 lanes keeps two groups of running states,
// so the order of every sum is the same on both. Where a sum adds in runs, a turn of the loop is one run of each lane.
#include <algorithm>
#include <cstddef>

#include "loop_nest.h"

namespace spyre::kernels {
namespace {

constexpr int kReductionLanes = 16;
constexpr int kCacheLine = 64;
/// Bytes of a row that two rows of, and what a kernel keeps of one, still leave room for in a core's cache.
constexpr int kPrefetchedRow = 64 << 10;

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
    for (std::uint16_t p = 0; p < kernel_.passes.size(); ++p)
      park_uniforms(kernel_.passes[p].points, vectors_of(p), state_registers(p, vectors_of(p)));
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

  bool in_runs(std::uint16_t pass) const {
    return std::ranges::any_of(
        kernel_.reductions, [&](const LoweredReduction& r) { return r.pass == pass && r.in_runs; });
  }

  /// Some state takes several instructions to update: vectors side by side would each begin with the same one.
  bool adds_stepwise(std::uint16_t pass) const {
    return std::ranges::any_of(kernel_.reductions, [&](const LoweredReduction& r) {
      const Step& s = kernel_.spec.steps[r.step];
      return r.pass == pass && adds_on_card(s.reduction, s.compute, kernel_.spec.numerics);
    });
  }

  /// Registers that hold running states through a pass, for `vectors` vectors side by side.
  int state_registers(std::uint16_t pass, int vectors) const {
    int registers = 0;
    for (const LoweredReduction& r : kernel_.reductions) {
      if (r.pass != pass) continue;
      const int sets = any_order(kernel_.spec.steps[r.step]) ? vectors : groups();
      for (const StateRule& rule : r.states) registers += sets * (width_of(rule.lane) / 4);
    }
    return registers;
  }

  /// Vectors of points that a pass computes side by side; 0: there is no main loop.
  int abreast(std::uint16_t pass) const {
    const Segment& points = kernel_.passes[pass].points;
    const int few = side_by_side(points, state_registers(pass, groups()));
    const int vectors = side_by_side(points, state_registers(pass, std::max(few, groups())));
    if (adds_stepwise(pass)) return std::min(vectors, groups());
    return in_runs(pass) ? std::min(vectors, kRun * groups()) : vectors;
  }

  /// Vectors in one turn of the main loop: at least one of each group.
  int vectors_of(std::uint16_t pass) const {
    const int vectors = abreast(pass);
    if (vectors == 0) return 0;
    return in_runs(pass) ? kRun * groups() : std::max(vectors, groups());
  }

  /// One set per vector of a turn; reductions with a fixed order share those of their group.
  void make_states() {
    int copies = groups();
    for (std::uint16_t p = 0; p < kernel_.passes.size(); ++p) copies = std::max(copies, abreast(p));
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
      position_varies_along_lanes_ = true;
      cc_.mov(position_, 0);
    }
    prepare_prefetch(pass);
    if (in_runs(pass) && vectors_of(pass) == 0) {
      emit_run_by_run(left, pass);
    } else {
      emit_turns(left, pass);
    }
    for (const LoweredReduction& r : kernel_.reductions)
      if (r.pass == pass) fold(r);
  }

  void emit_turns(const x86::Gp& left, std::uint16_t pass) {
    const Segment& points = kernel_.passes[pass].points;
    const int most = std::max(abreast(pass), 1);
    const int sets = std::max(most, groups());
    emit_along(left, vectors_of(pass), groups(), [&](int vectors, int phase, const Active& active) {
      if (active.all) prefetch(vectors);
      const int width = std::min(vectors, most);
      for (int first = phase; first < phase + vectors; first += width)
        emit_block(points, first % sets, width, active);
      if (active.all) end_runs(pass);
    });
    end_runs(pass);
  }

  /// A pass that has no main loop: the masked one, over as many points as runs take.
  void emit_run_by_run(const x86::Gp& left, std::uint16_t pass) {
    const asmjit::Label next_run = cc_.newLabel();
    const x86::Gp points = cc_.newInt64();
    const x86::Gp most = cc_.newInt64();
    cc_.bind(next_run);
    cc_.mov(points, left);
    cc_.mov(most, kRun * kReductionLanes);
    cc_.cmp(points, most);
    cc_.cmovg(points, most);
    emit_turns(points, pass);
    cc_.sub(left, most);
    cc_.jg(next_run);
  }

  /// Adds the total of each group's run to its sum, and starts the next.
  void end_runs(std::uint16_t pass) {
    for (const LoweredReduction& r : kernel_.reductions) {
      if (r.pass != pass || !r.in_runs) continue;
      for (int group = 0; group < groups(); ++group)
        end_run(r, states_[static_cast<std::size_t>(group)]);
    }
  }

  void end_run(const LoweredReduction& r, std::vector<Lanes>& states) {
    const std::size_t mark = isa_.mark();
    const std::size_t sum = state_index(r.first_state);
    for (std::size_t k = 0; k < r.states.size(); ++k) values_[r.first_state + k] = states[sum + k];
    const std::vector<Lanes> made = micro_.emit(r.end_run, values_, Active{});
    update_state(states[sum], made[r.end_run.results[0].position], Active{});
    reset_state(kRunTotal, states[sum + 1]);
    isa_.release_since(mark, [](const x86::Reg&) { return false; });
  }

  void emit_block(const Segment& points, int first_set, int vectors, const Active& active) {
    Block block{.segment = points, .shared = groups(), .active = active};
    for (int v = 0; v < vectors; ++v) {
      block.values.push_back(&values_);
      block.states.push_back(
          &states_[static_cast<std::size_t>(first_set) + static_cast<std::size_t>(v)]);
    }
    emit_points(block);
    advance(vectors);
  }

  /// The first pass fetches a row. While the one with the most work of the others runs over it in a cache, memory fetches
  /// the next one: processors do not foresee it across the border of a page.
  void prepare_prefetch(std::uint16_t pass) {
    ahead_ = {};
    if (kernel_.passes.size() < 2 || pass != busiest_later_pass()) return;
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      const ArgumentSpec& a = kernel_.spec.arguments[i];
      if (!cursors_[i].at.isValid() || a.kind != ArgumentSpec::Kind::Load ||
          a.inner != InnerStride::Unit)
        continue;
      const x86::Gp bytes = cc_.newInt64();
      const x86::Gp none = cc_.newInt64();
      ahead_.push_back({i, cc_.newInt64()});
      cc_.mov(ahead_.back().distance, stride_slot(i, false));
      cc_.imul(bytes, frame_field(offsetof(CallFrame, inner)), size_of(a.dtype));
      cc_.mov(none, 0);
      cc_.cmp(bytes, kPrefetchedRow);
      cc_.cmovg(ahead_.back().distance, none);
    }
  }

  std::uint16_t busiest_later_pass() const {
    std::uint16_t busiest = 1;
    for (std::uint16_t p = 2; p < kernel_.passes.size(); ++p)
      if (work_of(kernel_.passes[p].points) > work_of(kernel_.passes[busiest].points)) busiest = p;
    return busiest;
  }

  void prefetch(int vectors) {
    for (const Ahead& ahead : ahead_) {
      const int bytes =
          vectors * isa_.lanes() * size_of(kernel_.spec.arguments[ahead.argument].dtype);
      for (int offset = 0; offset < bytes; offset += kCacheLine)
        cc_.prefetcht0(x86::ptr(cursors_[ahead.argument].at, ahead.distance, 0, offset));
    }
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
    for (std::size_t k = 0; k < r.combine.results.size(); ++k)
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

  struct Ahead {
    std::size_t argument = 0;
    x86::Gp distance;  // to the next row; 0 if a row is too long to wait in a cache
  };

  std::vector<std::vector<Lanes>> states_;  // by set, by state
  std::vector<Ahead> ahead_;
};

}  // namespace

std::unique_ptr<LoopNest> make_row_program(const LoweredKernel& kernel, VectorIsa& isa,
                                           x86::Gp frame) {
  return std::make_unique<RowProgram>(kernel, isa, frame);
}

}  // namespace spyre::kernels
