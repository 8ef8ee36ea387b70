// spyre/kernels/avx2_int64.cpp — the 64-bit integer operations that AVX2 lacks, from those it has.
#include "avx2_isa.h"

namespace spyre::kernels {

using asmjit::Imm;

Lanes Avx2Isa::multiply_i64(const Lanes& a, const Lanes& b) {
  Lanes result{.lane = Lane::I64, .width = 8};
  for (std::size_t p = 0; p < 2; ++p) {
    const x86::Vec x = reg(a, p);
    const x86::Vec y = reg(b, p);
    // low * low + ((low * high + high * low) << 32)
    const x86::Vec cross = emit3(Inst::kIdVpmulld, x, emit3(Inst::kIdVpshufd, y, 0xb1));
    const x86::Vec summed = emit3(Inst::kIdVpaddd, cross, emit3(Inst::kIdVpsrlq, cross, 32));
    const x86::Vec high = emit3(Inst::kIdVpsllq, summed, 32);
    const x86::Vec low = emit3(Inst::kIdVpmuludq, x, y);
    result.part[p] = emit3(Inst::kIdVpaddq, low, high);
  }
  return result;
}

Lanes Avx2Isa::shift_right_arith_i64(const Lanes& a, const Lanes& count) {
  Lanes result{.lane = Lane::I64, .width = 8};
  const x86::Vec zero = materialise(8, 0);
  for (std::size_t p = 0; p < 2; ++p) {
    // Flipping a negative number's bits makes the logical shift bring in its (flipped) sign.
    const x86::Vec x = reg(a, p);
    const x86::Vec sign = emit3(Inst::kIdVpcmpgtq, zero, x);
    const x86::Vec flipped = emit3(Inst::kIdVpxor, x, sign);
    const x86::Vec shifted_bits = emit3(Inst::kIdVpsrlvq, flipped, rhs(count, p));
    result.part[p] = emit3(Inst::kIdVpxor, shifted_bits, sign);
  }
  return result;
}

/// The halves become exact doubles by planting them under the exponents of 2^52 and 2^84; their sum rounds once.
Lanes Avx2Isa::i64_to_f64(const Lanes& a) {
  Lanes result{.lane = Lane::F64, .width = 8};
  const std::uint64_t low_exponent = 0x4330000000000000U;  // 2^52
  const std::uint64_t high_exponent =
      0x4530000080000000U;                         // 2^84 + 2^63: takes the sign bit's weight along
  const std::uint64_t both = 0x4530000080100000U;  // 2^84 + 2^63 + 2^52
  for (std::size_t p = 0; p < 2; ++p) {
    const x86::Vec x = reg(a, p);
    const x86::Vec low = emit4(Inst::kIdVpblendd, x, constant_operand(8, low_exponent), 0xaa);
    const x86::Vec high =
        emit3(Inst::kIdVpxor, emit3(Inst::kIdVpsrlq, x, 32), constant_operand(8, high_exponent));
    const x86::Vec high_value = emit3(Inst::kIdVsubpd, high, constant_operand(8, both));
    result.part[p] = emit3(Inst::kIdVaddpd, high_value, low);
  }
  return result;
}

Lanes Avx2Isa::convert_i64(const Lanes& a, Lane to) {
  if (to == Lane::F64) return i64_to_f64(a);
  Lanes result{.lane = to, .width = 4};
  if (to == Lane::I32) {
    result.part[0] = low_words(reg(a, 0), reg(a, 1));
    return result;
  }
  // To float32 in one rounding: by the scalar instruction, lane by lane.
  const x86::Mem from = slot(0);
  const x86::Mem into = slot(1);
  store_raw(from, a);
  const x86::Vec r = fresh();
  for (int i = 0; i < lanes(); ++i) {
    cc.emit(Inst::kIdVxorps, r.xmm(), r.xmm(), r.xmm());
    cc.emit(Inst::kIdVcvtsi2ss, r.xmm(), r.xmm(), from.cloneAdjusted(i * 8).cloneResized(8));
    cc.emit(Inst::kIdVmovss, into.cloneAdjusted(i * 4).cloneResized(4), r.xmm());
  }
  return load_raw(to, into);
}

Lanes Avx2Isa::convert_to_i64(const Lanes& a) {
  const x86::Mem from = slot(0);
  const x86::Mem into = slot(1);
  store_raw(from, a);
  const InstId id = a.width == 8 ? Inst::kIdVcvttsd2si : Inst::kIdVcvttss2si;
  const x86::Gp r = cc.newInt64();
  for (int i = 0; i < lanes(); ++i) {
    cc.emit(id, r, from.cloneAdjusted(i * a.width).cloneResized(a.width));
    cc.mov(into.cloneAdjusted(i * 8).cloneResized(8), r);
  }
  return load_raw(Lane::I64, into);
}

}  // namespace spyre::kernels
