// spyre/kernels/register_need.h — how many registers a program wants at once, so that loops know how many vectors fit side by side.
#pragma once
#include "spyre/kernels/lowering.h"

namespace spyre::kernels {

/// Most values that are alive between two instructions, for one vector of points. Constants, parameters, values
/// of the row and running states are not counted: they are there for all vectors alike.
struct RegisterNeed {
  int vectors = 0;  // registers of numbers; 8-byte lanes take two
  int masks = 0;
};

RegisterNeed register_need(const Segment& segment, const KernelSpec& spec);

}  // namespace spyre::kernels
