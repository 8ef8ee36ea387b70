// spyre/kernels/micro_emitter.h — the program of one segment to instructions, for one vector of points.
#pragma once
#include <functional>
#include <vector>

#include "spyre/kernels/lowering.h"
#include "vector_isa.h"

namespace spyre::kernels {

/// What an Input instruction reads.
struct InputLanes {
  Lanes lanes{};
  bool temporary = false;  // loaded for this program: its registers are free after the last use
};

/// Vectors of points that a program runs on side by side, each instruction for all of them before the next: an
/// out-of-order core finds independent work close by however long the program is.
struct Vectors {
  int count = 1;
  /// What kernel value `value` is for vector `vector`.
  std::function<InputLanes(std::uint16_t value, int vector)> input;
  /// The running states that vectors share with the one `shared` before them; 0: each has its own.
  int shared = 0;
  /// (state read, instruction that makes the next state) of those.
  std::vector<Binding> shared_states = {};
};

/// Emits programs one after another; each reads kernel values by number and returns the value of every
/// instruction. Confined to one compilation.
class MicroEmitter {
 public:
  /// `fault`: a 4-byte place that becomes nonzero on a division by zero.
  MicroEmitter(VectorIsa& isa, x86::Mem fault) : isa_(isa), cc_(isa.cc), fault_(fault) {}

  /// By vector: the value of each instruction. Lanes that are not `active` must not fault. Of the values returned,
  /// only those that the segment saves, stores or publishes are still in their registers; of shared states, only
  /// those of the last vectors.
  std::vector<std::vector<Lanes>> emit(const Segment& segment, const Vectors& vectors,
                                       const Active& active);
  /// One vector; `kernel_values[n]` is what Input n reads.
  std::vector<Lanes> emit(const Segment& segment, const std::vector<Lanes>& kernel_values,
                          const Active& active);

 private:
  Lanes emit_one(const MicroInstruction& in);
  Lanes arithmetic(const MicroInstruction& in);
  Lanes direct(InstId id, const MicroInstruction& in);
  Lanes unary(InstId id, const Lanes& a, Lane to);
  Lanes bounded(InstId id, const Lanes& bound, const Lanes& a);
  Lanes min_max(const MicroInstruction& in);
  Lanes fused_multiply_add(const MicroInstruction& in);
  x86::Vec fused_part(const MicroInstruction& in, std::size_t p);
  Lanes sign_operation(const MicroInstruction& in);
  Lanes integer_abs(const Lanes& a);
  Lanes bitwise_not(const Lanes& a);
  Lanes round_to_integral(const MicroInstruction& in);
  Lanes multiply_high(const MicroInstruction& in);
  Lanes select(const MicroInstruction& in);
  Lanes convert(const Lanes& a, Lane to);
  Lanes reinterpret(const Lanes& a, Lane to);
  Lanes round_f16(const Lanes& a);
  Lanes wrap(const MicroInstruction& in);

  // micro_calls.cpp: what vectors cannot do.
  Lanes divide_i32(const MicroInstruction& in);
  Lanes divide_i64(const MicroInstruction& in);
  void divide_i64_lane(const MicroInstruction& in, const x86::Gp& at_a, const x86::Gp& at_b);
  Lanes math(const MicroInstruction& in);

  /// What is known of one instruction's result for one vector.
  struct Slot {
    Lanes lanes{};
    std::uint16_t remaining = 0;  // uses not yet emitted
    bool lasting = false;         // not of this program: its registers are never given back
  };

  const Lanes& value(std::uint16_t index) const { return (*slots_)[index].lanes; }
  void emit_for(std::size_t vector, std::uint16_t index, const Vectors& vectors);
  void hand_over(std::size_t vector, std::uint16_t index, const Vectors& vectors);
  /// Whether the instruction at hand is the last to read it, so that its registers may be overwritten.
  bool dies(std::uint16_t index) const;
  Lanes logic(Micro op, const Lanes& a, const Lanes& b);
  static Lanes unsigned_constant(Lane like, std::uint64_t bits_32, std::uint64_t bits_64);
  void count_uses(const Segment& segment, std::size_t vectors);
  /// Notes that a value occupies its registers.
  void hold(const Slot& slot);
  void drop_operand(std::uint16_t index);
  int& holders(const x86::Reg& r);
  int holders(const x86::Reg& r) const;

  VectorIsa& isa_;
  x86::Compiler& cc_;
  x86::Mem fault_;
  const MicroProgram* program_ = nullptr;
  const Active* active_ = nullptr;
  std::vector<std::vector<Slot>> all_slots_;  // by vector, by instruction
  std::vector<Slot>* slots_ = nullptr;        // of the vector at hand
  std::vector<int> holders_;                  // values in each virtual register
};

}  // namespace spyre::kernels
