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

  void emit_loops() override {
    if (kernel_.passes.empty()) return;
    vectors_ = side_by_side(points(), 0);
    park_uniforms(points(), vectors_, 0);
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
    emit_along(left, vectors_, 1, [&](int vectors, int, const Active& active) {
      const auto count = static_cast<std::size_t>(vectors);
      emit_points({.segment = points(),
                   .values = std::vector<Values*>(count, &values_),
                   .states = std::vector<std::vector<Lanes>*>(count, &no_states_),
                   .active = active});
      advance(vectors);
    });
  }

  int vectors_ = 1;
  std::vector<Lanes> no_states_;
};

}  // namespace

std::unique_ptr<LoopNest> make_pointwise_loop(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame) {
  return std::make_unique<PointwiseLoop>(kernel, isa, frame);
}

}  // namespace spyre::kernels
