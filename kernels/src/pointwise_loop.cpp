// spyre/kernels/pointwise_loop.cpp — every point of a rectangle: a row at a time, vectors along the row.
#include <cstddef>

#include "loop_nest.h"

namespace spyre::kernels {
namespace {

/// Confined to one compilation.
class PointwiseLoop final : public LoopNest {
 public:
  using LoopNest::LoopNest;

 private:
  const Segment& points() const { return kernel_.passes[0].points; }

  int unroll() const {
    const int work = work_of(points());
    if (!emits_full_vectors(points())) return 0;
    if (work <= 6) return 4;
    return work <= 30 ? 2 : 1;
  }

  void emit_loops() override {
    if (kernel_.passes.empty()) return;
    const asmjit::Label next_row = cc_.newLabel();
    const x86::Gp rows = cc_.newInt64("rows");
    cc_.mov(rows, frame_field(offsetof(CallFrame, outer)));
    cc_.bind(next_row);
    emit_row();
    advance_starts_along_outer();
    cc_.dec(rows);
    cc_.jnz(next_row);
  }

  void emit_row() {
    load_row_constants(points(), values_);
    open_cursors(points());
    prepare_streaming(points());
    const x86::Gp left = cc_.newInt64("left");
    cc_.mov(left, frame_field(offsetof(CallFrame, inner)));
    if (unroll() > 0) emit_full(left);
    emit_masked(left);
  }

  void emit_full(const x86::Gp& left) {
    const asmjit::Label loop = cc_.newLabel();
    const asmjit::Label done = cc_.newLabel();
    const int block = unroll() * isa_.lanes();
    cc_.cmp(left, block);
    cc_.jl(done);
    cc_.align(asmjit::AlignMode::kCode, 32);
    cc_.bind(loop);
    emit_copies(unroll(), Active{});
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
    emit_copies(1, isa_.first_lanes(min_with_lanes(left)));
    cc_.sub(left, isa_.lanes());
    cc_.jg(loop);
    cc_.bind(done);
  }

  void emit_copies(int copies, const Active& active) {
    std::vector<Lanes> no_states;
    for (int copy = 0; copy < copies; ++copy) {
      emit_points(points(), values_, no_states, copy, active, true);
      advance_strided();
    }
    advance_dense(copies);
  }
};

}  // namespace

std::unique_ptr<LoopNest> make_pointwise_loop(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame) {
  return std::make_unique<PointwiseLoop>(kernel, isa, frame);
}

}  // namespace spyre::kernels
