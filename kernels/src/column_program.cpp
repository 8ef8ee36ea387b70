// spyre/kernels/column_program.cpp — reductions down columns: states of a block of columns stay in registers while
// the reduced dimension goes by, in index order.
#include <algorithm>
#include <cstddef>

#include "loop_nest.h"

namespace spyre::kernels {
namespace {

constexpr int kRowsAhead = 32;
constexpr int kCacheLine = 64;

/// Confined to one compilation.
class ColumnProgram final : public LoopNest {
 public:
  using LoopNest::LoopNest;

 private:
  const Pass& pass() const { return kernel_.passes[0]; }

  void emit_loops() override {
    const int kept = kernel_.state_count() * 2;
    const int most = std::max(side_by_side(pass().points, kept * 4), 1);
    park_uniforms(pass().points, most, kept * most);
    const x86::Gp left = cc_.newInt64("left");
    cc_.mov(left, frame_field(offsetof(CallFrame, inner)));
    if (kernel_.reads_position()) position_ = cc_.newInt64("position");
    emit_along(left, most, 1, [&](int vectors, int, const Active& active) {
      emit_block(vectors, active);
      advance_starts_along_inner(vectors * isa_.lanes());
    });
  }

  void emit_block(int copies, const Active& active) {
    std::vector<Values> values(static_cast<std::size_t>(copies), values_);
    std::vector<std::vector<Lanes>> states;
    for (std::size_t copy = 0; copy < values.size(); ++copy) {
      emit_results(pass().before, values[copy], static_cast<int>(copy), active);
      states.push_back(new_states());
      reset_states(0, states[copy]);
    }
    emit_reduced_loop(values, states, active);
    for (std::size_t copy = 0; copy < values.size(); ++copy) {
      for (std::size_t i = 0; i < states[copy].size(); ++i)
        values[copy][kernel_.spec.steps.size() + 1 + i] = states[copy][i];
      emit_results(kernel_.after, values[copy], static_cast<int>(copy), active);
    }
  }

  void emit_reduced_loop(std::vector<Values>& values, std::vector<std::vector<Lanes>>& states,
                         const Active& active) {
    const asmjit::Label loop = cc_.newLabel();
    open_cursors(pass().points);
    const x86::Gp rows = cc_.newInt64("rows");
    cc_.mov(rows, frame_field(offsetof(CallFrame, outer)));
    if (kernel_.reads_position()) cc_.mov(position_, 0);
    prepare_prefetch();
    cc_.bind(loop);
    prefetch(static_cast<int>(values.size()));
    Block block{.segment = pass().points, .active = active, .row_constants_loaded = false};
    for (std::size_t copy = 0; copy < values.size(); ++copy) {
      block.values.push_back(&values[copy]);
      block.states.push_back(&states[copy]);
    }
    emit_points(block);
    for (std::size_t i = 0; i < cursors_.size(); ++i)
      if (cursors_[i].at.isValid()) cc_.add(cursors_[i].at, stride_slot(i, false));
    if (kernel_.reads_position()) cc_.inc(position_);
    cc_.dec(rows);
    cc_.jnz(loop);
  }

  /// The hardware does not foresee steps of a whole row, so the code asks for rows to come.
  void prepare_prefetch() {
    ahead_.assign(cursors_.size(), x86::Gp());
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      const ArgumentSpec& a = kernel_.spec.arguments[i];
      if (!cursors_[i].at.isValid() || a.kind != ArgumentSpec::Kind::Load ||
          a.inner != InnerStride::Unit)
        continue;
      ahead_[i] = cc_.newInt64();
      cc_.imul(ahead_[i], stride_slot(i, false), kRowsAhead);
    }
  }

  void prefetch(int copies) {
    for (std::size_t i = 0; i < ahead_.size(); ++i) {
      if (!ahead_[i].isValid()) continue;
      const int bytes = copies * isa_.lanes() * size_of(kernel_.spec.arguments[i].dtype);
      for (int offset = 0; offset < bytes; offset += kCacheLine)
        cc_.prefetcht1(x86::ptr(cursors_[i].at, ahead_[i], 0, offset));
    }
  }

  /// Values of which there is one per column: a vector of columns at a time.
  void emit_results(const Segment& segment, Values& values, int copy, const Active& active) {
    open_cursors(segment);
    for (const std::uint16_t step : segment.loads) {
      const std::uint16_t argument = kernel_.spec.steps[step].argument;
      values[step] = load_lanes(argument, cursors_[argument], copy, active);
    }
    const std::vector<Lanes> made = micro_.emit(segment, values, active);
    publish(segment, made, values);
    for (const StoreOut& store : segment.stores)
      store_lanes(store, copy, made[store.position], active, false);
  }

  std::vector<x86::Gp> ahead_;  // by argument: the distance to prefetch at
};

}  // namespace

std::unique_ptr<LoopNest> make_column_program(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame) {
  return std::make_unique<ColumnProgram>(kernel, isa, frame);
}

}  // namespace spyre::kernels
