// spyre/kernels/cpu_features.h — which instruction sets this CPU runs.
#pragma once
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// Avx2: with FMA, F16C and BMI2. Avx512: F, BW, DQ and VL.
bool cpu_runs(Isa isa);
/// vdpbf16ps.
bool cpu_multiplies_bfloat16();

}  // namespace spyre::kernels
