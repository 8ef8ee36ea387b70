// spyre/kernels/loop_nest.h — what the three loop forms share: arguments as moving pointers, segments, reduction states.
#pragma once
#include <functional>
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
  /// Moves the cursors past `vectors` vectors (strided arguments and counters: past one).
  void advance(int vectors);
  /// Adds the inner (or outer) stride times `count` to every argument's start in the frame.
  void advance_starts_along_outer();
  void advance_starts_along_inner(int count);

  /// Loads that are the same for the whole row.
  void load_row_constants(const Segment& segment, Values& values);
  /// Vectors of points side by side: loads, program, saves, states, stores.
  struct Block {
    const Segment& segment;
    std::vector<Values*> values{};              // by vector
    std::vector<std::vector<Lanes>*> states{};  // by vector, by state
    int shared = 0;  // vectors so far apart share the states whose registers are the same
    Active active{};
    bool row_constants_loaded = true;
  };
  void emit_points(const Block& block);
  /// Emits `vectors` vectors of points and moves past them; the first is the `phase`-th of a turn.
  using EmitVectors = std::function<void(int vectors, int phase, const Active& active)>;
  /// The loop over `left` points: whole blocks of `vectors`, then masked vectors, `phases` in a turn.
  void emit_along(const x86::Gp& left, int vectors, int phases, const EmitVectors& emit);
  void publish(const Segment& segment, const std::vector<Lanes>& made, Values& values);
  /// Decides whether the stores of this row go past the caches.
  void prepare_streaming(const Segment& segment);
  Lanes load_lanes(std::uint16_t argument, const Cursor& cursor, int copy, const Active& active);
  void store_lanes(const StoreOut& store, int vector, const Lanes& value, const Active& active,
                   bool streaming);
  /// Stores of the vectors that lie side by side.
  void store_all(const Segment& segment, const std::vector<std::vector<Lanes>>& made,
                 const Active& active);

  /// Running states: registers that live through a loop, for the reductions of one pass.
  std::vector<Lanes> new_states() const;
  void reset_states(std::uint16_t pass, std::vector<Lanes>& states);
  void reset_state(const StateRule& rule, Lanes& state);
  void update_state(Lanes& state, const Lanes& value, const Active& active);
  std::size_t state_index(std::uint16_t value) const {
    return value - kernel_.spec.steps.size() - 1U;
  }

  x86::Gp min_with_lanes(const x86::Gp& left);
  static int work_of(const Segment& segment);
  /// How many vectors of points the registers hold side by side, beside `kept` registers that live through the
  /// loop; a power of two. 0: large programs get the masked loop only.
  int side_by_side(const Segment& points, int kept) const;
  /// Parks the parameters that `vectors` vectors of `points` leave no registers for.
  void park_uniforms(const Segment& points, int vectors, int kept);

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
  x86::Gp position_;  // along the reduced dimension, if a reduction asks for it
  bool position_varies_along_lanes_ = false;

 private:
  InputLanes input_of(const Block& block, std::uint16_t value, int vector);
  Lanes position_of(int vector);
  std::vector<Binding> shared_states(const Block& block) const;
  bool is_handed_over(const Block& block, const Binding& state, std::size_t vector) const;
  bool is_strided(const Segment& segment) const;
  bool streams(const StoreOut& store) const;
  void emit_uniform();
  void prepare_counters();
  void open_cursor(std::uint16_t argument);
  std::size_t slot_of(std::uint16_t step) const;
  void open_slot(std::uint16_t step);
};

std::unique_ptr<LoopNest> make_pointwise_loop(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame);
std::unique_ptr<LoopNest> make_row_program(const LoweredKernel& kernel, VectorIsa& isa,
                                           x86::Gp frame);
std::unique_ptr<LoopNest> make_column_program(const LoweredKernel& kernel, VectorIsa& isa,
                                              x86::Gp frame);

}  // namespace spyre::kernels
