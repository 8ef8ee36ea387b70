// spyre/kernels/avx2_memory.cpp — loads and stores of every element type on AVX2.
//
// A partial vector of 4- and 8-byte elements uses the masked moves; one of smaller elements goes through a
// stack slot, because AVX2 cannot mask bytes and reading past a tensor's end is never allowed.
#include "avx2_isa.h"

namespace spyre::kernels {
namespace {

using asmjit::Imm;

InstId load_instruction(DType type) {
  switch (type) {
    case DType::Bool:
    case DType::U8: return Inst::kIdVpmovzxbd;
    case DType::I8: return Inst::kIdVpmovsxbd;
    case DType::I16: return Inst::kIdVpmovsxwd;
    case DType::BF16: return Inst::kIdVpmovzxwd;
    case DType::F16: return Inst::kIdVcvtph2ps;
    default: return Inst::kIdVmovups;
  }
}

}  // namespace

const Lanes& Avx2Isa::mask_of(const Active& active, std::uint8_t width) {
  return width == 8 ? active.wide : active.mask;
}

Lanes Avx2Isa::load_masked(DType type, const x86::Mem& at, const Active& active) {
  if (size_of(type) < 4) {
    copy_elements(size_of(type), slot(0), x86::Gp(), at, x86::Gp(), active);
    return load(type, slot(0), Active{});
  }
  Lanes result{.lane = lane_of(type), .width = width_of(lane_of(type))};
  const InstId id = result.width == 8 ? Inst::kIdVmaskmovpd : Inst::kIdVmaskmovps;
  for (std::size_t p = 0; p < result.parts(); ++p)
    result.part[p] =
        emit3(id, mask_of(active, result.width).part[p], at.cloneAdjusted(p * 32).cloneResized(0));
  return result;
}

Lanes Avx2Isa::load(DType type, const x86::Mem& at, const Active& active) {
  if (!active.all) return load_masked(type, at, active);
  Lanes result{.lane = lane_of(type), .width = width_of(lane_of(type))};
  for (std::size_t p = 0; p < result.parts(); ++p) {
    x86::Vec r = emit2(load_instruction(type), at.cloneAdjusted(p * 32).cloneResized(0));
    if (type == DType::BF16) r = emit3(Inst::kIdVpslld, r, 16);
    result.part[p] = r;
  }
  return result;
}

/// Stores all lanes of a 1- or 2-byte type.
void Avx2Isa::store_small(DType type, const x86::Mem& at, const x86::Vec& r) {
  if (type == DType::F16) {
    cc.emit(Inst::kIdVcvtps2ph, at, r, Imm(0));
    return;
  }
  // Within each 128-bit half, the wanted bytes of four lanes move to its bottom; then the halves meet.
  const bool bytes = size_of(type) == 1;
  const std::array<std::uint64_t, 4> pattern =
      bytes ? std::array<std::uint64_t, 4>{0x808080800c080400U, ~0ULL, 0x808080800c080400U, ~0ULL}
      : type == DType::BF16
          ? std::array<std::uint64_t, 4>{0x0f0e0b0a07060302U, ~0ULL, 0x0f0e0b0a07060302U, ~0ULL}
          : std::array<std::uint64_t, 4>{0x0d0c090805040100U, ~0ULL, 0x0d0c090805040100U, ~0ULL};
  const x86::Mem data =
      cc.newConst(asmjit::ConstPoolScope::kLocal, pattern.data(), sizeof(pattern));
  const x86::Vec low = emit3(Inst::kIdVpshufb, r, data);
  const x86::Vec high = upper_half(low);
  const x86::Vec packed = fresh();
  if (bytes) {
    cc.emit(Inst::kIdVpunpckldq, packed.xmm(), low.xmm(), high.xmm());
    cc.emit(Inst::kIdVmovq, at.cloneResized(8), packed.xmm());
  } else {
    cc.emit(Inst::kIdVpunpcklqdq, packed.xmm(), low.xmm(), high.xmm());
    cc.emit(Inst::kIdVmovups, at, packed.xmm());
  }
}

void Avx2Isa::store(DType type, const x86::Mem& at, const Lanes& value, const Active& active) {
  if (size_of(type) < 4) {
    if (active.all) return store_small(type, at.cloneResized(0), reg(value, 0));
    store_small(type, slot(0).cloneResized(0), reg(value, 0));
    copy_elements(size_of(type), at, x86::Gp(), slot(0), x86::Gp(), active);
    return;
  }
  const InstId id = value.width == 8 ? Inst::kIdVmaskmovpd : Inst::kIdVmaskmovps;
  for (std::size_t p = 0; p < value.parts(); ++p) {
    const x86::Mem to = at.cloneAdjusted(p * 32).cloneResized(0);
    const x86::Vec r = reg(value, p);
    if (active.all) {
      cc.emit(Inst::kIdVmovups, to, r);
    } else {
      cc.emit(id, to, mask_of(active, value.width).part[p], r);
    }
  }
}

}  // namespace spyre::kernels
