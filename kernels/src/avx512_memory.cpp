// spyre/kernels/avx512_memory.cpp — loads and stores of every element type on AVX-512; masked lanes never touch memory.
#include "avx512_isa.h"

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
    case DType::F64:
    case DType::I64: return Inst::kIdVmovupd;
    default: return Inst::kIdVmovups;
  }
}

}  // namespace

x86::KReg Avx512Isa::mask_part(const Active& active, std::uint8_t width, std::size_t part) const {
  const Lanes& mask = width == 8 ? active.wide : active.mask;
  return mask.part[part].as<x86::KReg>();
}

Lanes Avx512Isa::load(DType type, const x86::Mem& at, const Active& active) {
  Lanes result{.lane = lane_of(type), .width = width_of(lane_of(type))};
  for (std::size_t p = 0; p < result.parts(); ++p) {
    const x86::Vec r = fresh();
    if (!active.all) cc.k(mask_part(active, result.width, p)).z();
    cc.emit(load_instruction(type), r, at.cloneAdjusted(p * 64).cloneResized(0));
    if (type == DType::BF16) cc.emit(Inst::kIdVpslld, r, r, Imm(16));
    result.part[p] = r;
  }
  return result;
}

void Avx512Isa::store_part(DType type, const x86::Mem& at, const x86::Vec& r, const Active& active,
                           std::size_t part) {
  const auto masked = [&] {
    if (!active.all) cc.k(mask_part(active, width_of(lane_of(type)), part));
  };
  switch (type) {
    case DType::Bool:
    case DType::U8:
    case DType::I8:
      masked();
      cc.emit(Inst::kIdVpmovdb, at, r);
      break;
    case DType::I16:
      masked();
      cc.emit(Inst::kIdVpmovdw, at, r);
      break;
    case DType::BF16: {
      const x86::Vec high = emit3(Inst::kIdVpsrld, r, 16);
      masked();
      cc.emit(Inst::kIdVpmovdw, at, high);
      break;
    }
    case DType::F16:
      masked();
      cc.emit(Inst::kIdVcvtps2ph, at, r, Imm(0));
      break;
    default: masked(); cc.emit(size_of(type) == 8 ? Inst::kIdVmovupd : Inst::kIdVmovups, at, r);
  }
}

void Avx512Isa::store(DType type, const x86::Mem& at, const Lanes& value, const Active& active) {
  for (std::size_t p = 0; p < value.parts(); ++p)
    store_part(type, at.cloneAdjusted(p * 64).cloneResized(0), reg(value, p), active, p);
}

}  // namespace spyre::kernels
