// spyre/kernels/column_program.cpp — reductions down columns: states of a block of columns stay in registers while
// the reduced dimension goes by, in index order.
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

  /// Vectors of columns side by side: as many as registers allow, if the arguments are dense.
  int copies() const {
    for (const ArgumentSpec& a : kernel_.spec.arguments)
      if (a.inner == InnerStride::Any ||
          (a.kind == ArgumentSpec::Kind::Iota && a.inner != InnerStride::Zero))
        return 1;
    if (kernel_.state_count() > 1 || work_of(pass().points) > 12) return 1;
    return 4;
  }

  void emit_loops() override {
    const x86::Gp left = cc_.newInt64("left");
    cc_.mov(left, frame_field(offsetof(CallFrame, inner)));
    emit_full(left);
    emit_masked(left);
  }

  void emit_full(const x86::Gp& left) {
    const asmjit::Label loop = cc_.newLabel();
    const asmjit::Label done = cc_.newLabel();
    const int block = copies() * isa_.lanes();
    cc_.cmp(left, block);
    cc_.jl(done);
    cc_.bind(loop);
    emit_block(copies(), Active{});
    advance_starts_along_inner(block);
    cc_.sub(left, block);
    cc_.cmp(left, block);
    cc_.jge(loop);
    cc_.bind(done);
  }

  void emit_masked(const x86::Gp& left) {
    const asmjit::Label loop = cc_.newLabel();
    const asmjit::Label done = cc_.newLabel();
    cc_.test(left, left);
    cc_.jle(done);
    cc_.bind(loop);
    emit_block(1, isa_.first_lanes(min_with_lanes(left)));
    advance_starts_along_inner(isa_.lanes());
    cc_.sub(left, isa_.lanes());
    cc_.jg(loop);
    cc_.bind(done);
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
    const x86::Gp position = cc_.newInt64("position");
    cc_.mov(rows, frame_field(offsetof(CallFrame, outer)));
    if (kernel_.reads_position()) cc_.mov(position, 0);
    prepare_prefetch();
    cc_.bind(loop);
    prefetch(static_cast<int>(values.size()));
    for (std::size_t copy = 0; copy < values.size(); ++copy) {
      if (kernel_.reads_position()) set_position(position, false, values[copy]);
      emit_points(pass().points, values[copy], states[copy], static_cast<int>(copy), active, false);
    }
    for (std::size_t i = 0; i < cursors_.size(); ++i)
      if (cursors_[i].at.isValid()) cc_.add(cursors_[i].at, stride_slot(i, false));
    if (kernel_.reads_position()) cc_.inc(position);
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
      store_lanes(store.argument, cursors_[store.argument], copy, made[store.position], active);
  }

  std::vector<x86::Gp> ahead_;  // by argument: the distance to prefetch at
};

}  // namespace

std::unique_ptr<LoopNest> make_column_program(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame) {
  return std::make_unique<ColumnProgram>(kernel, isa, frame);
}

}  // namespace spyre::kernels
