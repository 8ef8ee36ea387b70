// spyre/kernels/loop_nest.h — what the three loop forms share: arguments as moving pointers, segments, reduction states.
#pragma once
#include <memory>
#include <vector>

#include "call_frame.h"
#include "micro_emitter.h"
#include "spyre/kernels/lowering.h"
#include "vector_isa.h"

namespace spyre::kernels {

/// Emits the body of one kernel function. Confined to one compilation.
class LoopNest {
 public:
  LoopNest(const LoweredKernel& kernel, VectorIsa& isa, x86::Gp frame);
  virtual ~LoopNest() = default;
  LoopNest(const LoopNest&) = delete;
  LoopNest& operator=(const LoopNest&) = delete;

  void emit();

 protected:
  using Values = std::vector<Lanes>;  // by kernel value number

  /// An argument, or a row in the scratchpad, at the current point.
  struct Cursor {
    x86::Gp at;      // address (Iota: value); invalid if the argument is not used here
    x86::Gp stride;  // between lanes, if they are not side by side
    x86::Gp step;    // stride * lanes
  };

  /// Everything after the uniform segment.
  virtual void emit_loops() = 0;

  const ArgumentSpec& argument_of(std::uint16_t step) const;
  bool is_iota(std::uint16_t argument) const;
  x86::Mem pointer_slot(std::size_t argument) const {
    return x86::qword_ptr(pointers_, static_cast<int>(argument) * 8);
  }
  x86::Mem stride_slot(std::size_t argument, bool inner) const;
  x86::Mem frame_field(std::size_t offset) const {
    return x86::qword_ptr(frame_, static_cast<int>(offset));
  }

  /// Points the cursors of everything that `segment` touches at the current start.
  void open_cursors(const Segment& segment);
  /// Moves the cursors of strided arguments and counters past one vector.
  void advance_strided();
  /// Moves the others past `copies` vectors.
  void advance_dense(int copies);
  /// Adds the inner (or outer) stride times `count` to every argument's start in the frame.
  void advance_starts_along_outer();
  void advance_starts_along_inner(int count);

  /// Loads that are the same for the whole row.
  void load_row_constants(const Segment& segment, Values& values);
  /// One vector of points: loads, program, saves, states, stores. `copy` vectors after the cursors.
  void emit_points(const Segment& segment, Values& values, std::vector<Lanes>& states, int copy,
                   const Active& active, bool row_constants_loaded);
  void publish(const Segment& segment, const std::vector<Lanes>& made, Values& values);
  /// Decides whether the stores of this row go past the caches.
  void prepare_streaming(const Segment& segment);
  Lanes load_lanes(std::uint16_t argument, const Cursor& cursor, int copy, const Active& active);
  void store_lanes(std::uint16_t argument, const Cursor& cursor, int copy, const Lanes& value,
                   const Active& active);

  /// Running states: registers that live through a loop, for the reductions of one pass.
  std::vector<Lanes> new_states() const;
  void reset_states(std::uint16_t pass, std::vector<Lanes>& states);
  std::size_t state_index(std::uint16_t value) const {
    return value - kernel_.spec.steps.size() - 1U;
  }

  void set_position(const x86::Gp& position, bool along_lanes, Values& values);
  x86::Gp min_with_lanes(const x86::Gp& left);
  static int work_of(const Segment& segment);
  /// Large programs get the masked loop only.
  bool emits_full_vectors(const Segment& points) const;

  const LoweredKernel& kernel_;
  VectorIsa& isa_;
  x86::Compiler& cc_;
  x86::Gp frame_, pointers_, strides_;
  MicroEmitter micro_;
  Values values_;
  std::vector<Cursor> cursors_;  // by argument
  std::vector<Cursor> slots_;    // by scratchpad slot
  std::vector<Lanes> offsets_;   // by argument: the lanes of a counter
  bool may_stream_ = false;      // prepare_streaming() was asked
  Lanes lane_index_;

 private:
  void store_dense(std::uint16_t argument, const x86::Mem& at, const Lanes& value,
                   const Active& active);
  void emit_uniform();
  void prepare_counters();
  void open_cursor(std::uint16_t argument);
  std::size_t slot_of(std::uint16_t step) const;
  void open_slot(std::uint16_t step);
  void update_state(Lanes& state, const Lanes& value, const Active& active);
};

std::unique_ptr<LoopNest> make_pointwise_loop(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame);
std::unique_ptr<LoopNest> make_row_program(const LoweredKernel& kernel, VectorIsa& isa,
                                           x86::Gp frame);
std::unique_ptr<LoopNest> make_column_program(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame);

}  // namespace spyre::kernels
