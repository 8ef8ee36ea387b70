// spyre/kernels/cpu_features.h — which instruction sets this CPU runs, and what it keeps near.
#pragma once
#include "spyre/base/bytes.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// Avx2: with FMA, F16C and BMI2. Avx512: F, BW, DQ and VL.
bool cpu_runs(Isa isa);
/// vdpbf16ps.
bool cpu_multiplies_bfloat16();
/// vpdpwssd on 512 bits.
bool cpu_multiplies_words();
/// What the system says of the cache that cores share, between 8 and 32 MiB: more of it belongs to others, too. 32 MiB
/// where it says nothing.
Bytes last_level_cache();

}  // namespace spyre::kernels
