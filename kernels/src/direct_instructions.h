// spyre/kernels/direct_instructions.h — micro-ops that are one instruction of three operands, by lane.
#pragma once
#include <array>
#include <span>

#include "vector_isa.h"

namespace spyre::kernels {

/// Instructions for F32, F64, I32, I64 lanes; 0 where one instruction does not do it.
struct DirectRow {
  Micro op;
  std::array<InstId, 4> by_lane;
};

/// The rows that AVX2 and AVX-512 spell alike.
std::span<const DirectRow> common_direct_rows();

/// The instruction for `op` on `lane` in `rows`, or 0.
InstId find_direct(std::span<const DirectRow> rows, Micro op, Lane lane);

}  // namespace spyre::kernels
