// spyre/kernels/cpu_features.cpp — asks asmjit and the system.
#include "cpu_features.h"

#include <asmjit/x86.h>
#include <unistd.h>

#include <algorithm>

#include "spyre/base/error.h"

namespace spyre::kernels {

bool cpu_runs(Isa isa) {
  const auto& x86 = asmjit::CpuInfo::host().features().x86();
  const bool avx2 = x86.hasAVX2() && x86.hasFMA() && x86.hasF16C() && x86.hasBMI2();
  if (isa == Isa::Avx2) return avx2;
  return avx2 && x86.hasAVX512_F() && x86.hasAVX512_BW() && x86.hasAVX512_DQ() &&
         x86.hasAVX512_VL();
}

bool cpu_multiplies_bfloat16() {
  return cpu_runs(Isa::Avx512) && asmjit::CpuInfo::host().features().x86().hasAVX512_BF16();
}

bool cpu_multiplies_words() {
  return cpu_runs(Isa::Avx512) && asmjit::CpuInfo::host().features().x86().hasAVX512_VNNI();
}

Bytes last_level_cache() {
  static const Bytes size = [] {
    const long said = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (said <= 0) return 32_MiB;
    return std::clamp(Bytes{static_cast<std::uint64_t>(said)}, 8_MiB, 32_MiB);
  }();
  return size;
}

Isa best_isa() {
  if (cpu_runs(Isa::Avx512)) return Isa::Avx512;
  if (cpu_runs(Isa::Avx2)) return Isa::Avx2;
  throw Unsupported(
      "spyre: this CPU has no AVX2 with FMA, F16C and BMI2; the vector kernels need them; try "
      "SPYRE_EXEC=scalar");
}

}  // namespace spyre::kernels
