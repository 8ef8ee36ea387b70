// spyre/kernels/micro_emitter.h — the program of one segment to instructions, for one vector of points.
#pragma once
#include <vector>

#include "spyre/kernels/lowering.h"
#include "vector_isa.h"

namespace spyre::kernels {

/// Emits programs one after another; each reads kernel values by number and returns the value of every
/// instruction. Confined to one compilation.
class MicroEmitter {
 public:
  /// `fault`: a 4-byte place that becomes nonzero on a division by zero.
  MicroEmitter(VectorIsa& isa, x86::Mem fault) : isa_(isa), cc_(isa.cc), fault_(fault) {}

  /// `kernel_values[n]` is what Input n reads. Lanes that are not `active` must not fault. Of the values returned,
  /// only those that the segment saves, stores or publishes are still in their registers.
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
  Lanes sign_operation(const MicroInstruction& in);
  Lanes integer_abs(const Lanes& a);
  Lanes bitwise_not(const Lanes& a);
  Lanes round_to_integral(const MicroInstruction& in);
  Lanes multiply_high(const MicroInstruction& in);
  Lanes select(const MicroInstruction& in);
  Lanes convert(const Lanes& a, Lane to);
  Lanes reinterpret(const Lanes& a, Lane to);
  Lanes round_f16(const Lanes& a);
  Lanes round_bf16(const Lanes& a);
  Lanes wrap(const MicroInstruction& in);

  // micro_calls.cpp: what vectors cannot do.
  Lanes divide_i32(const MicroInstruction& in);
  Lanes divide_i64(const MicroInstruction& in);
  void divide_i64_lane(const MicroInstruction& in, const x86::Gp& at_a, const x86::Gp& at_b);
  Lanes math(const MicroInstruction& in);

  const Lanes& value(std::uint16_t index) const { return values_[index]; }
  /// The register of part `p` of operand `index`, free to overwrite.
  x86::Vec consumed(std::uint16_t index, std::size_t p);
  Lanes logic(Micro op, const Lanes& a, const Lanes& b);
  static Lanes unsigned_constant(Lane like, std::uint64_t bits_32, std::uint64_t bits_64);
  void count_uses(const Segment& segment);
  /// Notes that a value occupies its registers; `lasting` ones are never given back.
  void hold(const Lanes& value, bool lasting);
  void drop_operand(std::uint16_t index);
  int& holders(const x86::Reg& r);

  VectorIsa& isa_;
  x86::Compiler& cc_;
  x86::Mem fault_;
  const MicroProgram* program_ = nullptr;
  const Active* active_ = nullptr;
  std::vector<Lanes> values_;
  std::vector<std::uint16_t> uses_;       // of each instruction's result
  std::vector<std::uint16_t> remaining_;  // of those, not yet emitted
  std::vector<int> holders_;              // values in each virtual register
};

}  // namespace spyre::kernels
