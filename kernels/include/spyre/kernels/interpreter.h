// spyre/kernels/interpreter.h — runs micro-op programs lane by lane: the meaning the emitters must match.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "spyre/kernels/micro_op.h"

namespace spyre::kernels {

/// Lanes are kept as raw bits, one 64-bit cell per lane, the value in the low bytes and zeros above;
/// a Mask is 0 or 1.
inline constexpr std::size_t kBlockLanes = 64;

/// One kernel value that a program reads; `uniform`: one cell stands for every lane.
struct LaneInput {
  const std::uint64_t* cells = nullptr;
  bool uniform = false;
};

/// Runs every instruction over `lanes` (at most kBlockLanes) lanes. `registers` has kBlockLanes cells for
/// each instruction; Input instruction `imm` reads inputs[imm]. Throws Error on integer division by zero.
void evaluate(const MicroProgram& program, std::span<const LaneInput> inputs, std::size_t lanes,
              std::uint64_t* registers);

/// One instruction on one lane of operands.
std::uint64_t evaluate_one(const MicroInstruction& instruction, Lane operand_lane, std::uint64_t a,
                           std::uint64_t b, std::uint64_t c);

}  // namespace spyre::kernels
