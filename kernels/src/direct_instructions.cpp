// spyre/kernels/direct_instructions.cpp — the table of one-instruction micro-ops.
#include "direct_instructions.h"

namespace spyre::kernels {

std::span<const DirectRow> common_direct_rows() {
  static constexpr DirectRow kRows[] = {
      {Micro::Add, {Inst::kIdVaddps, Inst::kIdVaddpd, Inst::kIdVpaddd, Inst::kIdVpaddq}},
      {Micro::Sub, {Inst::kIdVsubps, Inst::kIdVsubpd, Inst::kIdVpsubd, Inst::kIdVpsubq}},
      {Micro::Mul, {Inst::kIdVmulps, Inst::kIdVmulpd, Inst::kIdVpmulld, 0}},
      {Micro::Div, {Inst::kIdVdivps, Inst::kIdVdivpd, 0, 0}},
      {Micro::MinNan, {0, 0, Inst::kIdVpminsd, 0}},
      {Micro::MaxNan, {0, 0, Inst::kIdVpmaxsd, 0}},
      {Micro::Shl, {0, 0, Inst::kIdVpsllvd, Inst::kIdVpsllvq}},
      {Micro::ShrLogical, {0, 0, Inst::kIdVpsrlvd, Inst::kIdVpsrlvq}},
      {Micro::ShrArith, {0, 0, Inst::kIdVpsravd, 0}},
  };
  return kRows;
}

InstId find_direct(std::span<const DirectRow> rows, Micro op, Lane lane) {
  if (lane == Lane::Mask) return 0;
  for (const DirectRow& row : rows)
    if (row.op == op) return row.by_lane[static_cast<std::size_t>(lane)];
  return 0;
}

}  // namespace spyre::kernels
