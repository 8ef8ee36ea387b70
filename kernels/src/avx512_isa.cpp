// spyre/kernels/avx512_isa.cpp — registers, masks and 64-bit integers on AVX-512.
#include "avx512_isa.h"

#include "direct_instructions.h"

namespace spyre::kernels {

using asmjit::Imm;

namespace {

constexpr DirectRow kAvx512Rows[] = {
    {Micro::Mul, {0, 0, 0, Inst::kIdVpmullq}},
    {Micro::MinNan, {0, 0, 0, Inst::kIdVpminsq}},
    {Micro::MaxNan, {0, 0, 0, Inst::kIdVpmaxsq}},
    {Micro::ShrArith, {0, 0, 0, Inst::kIdVpsravq}},
    {Micro::And, {Inst::kIdVandps, Inst::kIdVandpd, Inst::kIdVpandd, Inst::kIdVpandq}},
    {Micro::Or, {Inst::kIdVorps, Inst::kIdVorpd, Inst::kIdVpord, Inst::kIdVporq}},
    {Micro::Xor, {Inst::kIdVxorps, Inst::kIdVxorpd, Inst::kIdVpxord, Inst::kIdVpxorq}},
};

constexpr std::uint64_t kOddBit = 0x10000, kHalf = 0x8000;  // of what bfloat16 keeps and drops

struct Predicate {
  int for_floats, for_integers;
};

Predicate predicate_of(Micro op) {
  switch (op) {
    case Micro::Eq: return {0x00, 0};  // EQ_OQ
    case Micro::Ne: return {0x04, 4};  // NEQ_UQ
    case Micro::Lt: return {0x11, 1};  // LT_OQ
    default: return {0x12, 2};         // LE_OQ
  }
}

InstId compare_instruction(Lane lane) {
  switch (lane) {
    case Lane::F32: return Inst::kIdVcmpps;
    case Lane::F64: return Inst::kIdVcmppd;
    case Lane::I64: return Inst::kIdVpcmpq;
    default: return Inst::kIdVpcmpd;
  }
}

}  // namespace

x86::Mem Avx512Isa::constant_operand(std::uint8_t width, std::uint64_t bits) {
  const x86::Mem data = cc.newConst(asmjit::ConstPoolScope::kLocal, &bits, width);
  return width == 8 ? data._1to8() : data._1to16();
}

Lanes Avx512Isa::parked(const Lanes& value) {
  Lanes result{.lane = value.lane, .width = value.width, .home = Lanes::Home::Memory};
  const x86::Mem place = cc.newStack(value.width, value.width);
  const bool wide = value.width == 8;
  cc.emit(wide ? Inst::kIdVmovsd : Inst::kIdVmovss, place.cloneResized(value.width),
          reg(value, 0).xmm());
  result.memory = wide ? place._1to8() : place._1to16();
  return result;
}

x86::Vec Avx512Isa::unparked(const x86::Mem& memory, std::uint8_t width) {
  x86::Mem element = memory.cloneResized(width);
  element.setBroadcast(x86::Mem::Broadcast::kNone);
  return emit2(width == 8 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, element);
}

InstId Avx512Isa::direct(Micro op, Lane lane) const {
  const InstId id = find_direct(common_direct_rows(), op, lane);
  return id != 0 ? id : find_direct(kAvx512Rows, op, lane);
}

InstId Avx512Isa::round_instruction(Lane lane) const {
  return lane == Lane::F64 ? Inst::kIdVrndscalepd : Inst::kIdVrndscaleps;
}

Lanes Avx512Isa::mask_constant(bool value) {
  Lanes result{.lane = Lane::Mask, .width = 4};
  const x86::Gp bits = cc.newInt32();
  const x86::KReg k = fresh_mask();
  cc.mov(bits, value ? -1 : 0);
  cc.kmovw(k, bits);
  result.part[0] = k;
  return result;
}

Lanes Avx512Isa::compare_with(InstId id, int predicate, const Lanes& a, const Lanes& b) {
  Lanes result{.lane = Lane::Mask, .width = a.width};
  for (std::size_t p = 0; p < a.parts(); ++p) {
    const x86::KReg k = fresh_mask();
    cc.emit(id, k, reg(a, p), rhs(b, p), Imm(predicate));
    result.part[p] = k;
  }
  return result;
}

Lanes Avx512Isa::compare(Micro op, const Lanes& a, const Lanes& b) {
  const bool floats = a.lane == Lane::F32 || a.lane == Lane::F64;
  const Predicate predicate = predicate_of(op);
  return compare_with(compare_instruction(a.lane),
                      floats ? predicate.for_floats : predicate.for_integers, a, b);
}

/// The range instruction orders zeros but drops NaN: where there is one, the sum takes its place.
Lanes Avx512Isa::min_max(Micro op, const Lanes& a, const Lanes& b) {
  const bool wide = a.lane == Lane::F64;
  const int choice = op == Micro::MinNan ? 4 : 5;  // of signed numbers, the sign as compared
  const Lanes nan = unordered(a, b);
  Lanes result{.lane = a.lane, .width = a.width};
  for (std::size_t p = 0; p < a.parts(); ++p) {
    const x86::Vec r =
        emit4(wide ? Inst::kIdVrangepd : Inst::kIdVrangeps, reg(a, p), rhs(b, p), choice);
    cc.k(nan.part[p].as<x86::KReg>())
        .emit(wide ? Inst::kIdVaddpd : Inst::kIdVaddps, r, reg(a, p), rhs(b, p));
    result.part[p] = r;
  }
  return result;
}

Lanes Avx512Isa::scale(const Lanes& a, const Lanes& b) {
  return each_part(Inst::kIdVscalefps, Lane::F32, a, b);
}

/// Half a unit more, or a bit less where the result would be even as it is; a NaN takes the place of what that makes of it.
Lanes Avx512Isa::round_bf16(const Lanes& a, NanBits nan) {
  constexpr std::uint64_t kUpper = 0xffff0000U;
  constexpr std::uint64_t kNanToQuietNan =
      0x22;  // by class of number: the response to a NaN is that NaN, made quiet
  const x86::Vec x = reg(a, 0);
  const x86::Vec r = multiplies_words_ ? with_half_a_unit_by_words(x) : with_half_a_unit(x);
  if (nan == NanBits::Any)
    cc.emit(Inst::kIdVfixupimmps, r, x, constant_operand(4, kNanToQuietNan), Imm(0));
  Lanes result{.lane = Lane::F32, .width = 4};
  result.part[0] = emit3(Inst::kIdVpandd, r, constant_operand(4, kUpper));
  return result;
}

x86::Vec Avx512Isa::with_half_a_unit(const x86::Vec& x) {
  const x86::KReg odd = fresh_mask();
  cc.emit(Inst::kIdVptestmd, odd, x, constant_operand(4, kOddBit));
  const x86::Vec r = emit3(Inst::kIdVpaddd, x, constant_operand(4, kHalf - 1));
  cc.k(odd).emit(Inst::kIdVpaddd, r, x, constant_operand(4, kHalf));
  return r;
}

/// Of two words, each times one, added to x: the lower is a bit less than half, the upper the odd bit.
x86::Vec Avx512Isa::with_half_a_unit_by_words(const x86::Vec& x) {
  constexpr std::uint64_t kOnes = 0x00010001;
  constexpr int kBothOrThird = 0xea;  // (a & b) | c
  const x86::Vec words = materialise(4, kOddBit);
  cc.emit(Inst::kIdVpternlogd, words, x, constant_operand(4, kHalf - 1), Imm(kBothOrThird));
  const x86::Vec r = emit2(Inst::kIdVmovdqa32, x);
  cc.emit(Inst::kIdVpdpwssd, r, words, constant_operand(4, kOnes));
  return r;
}

Lanes Avx512Isa::unordered(const Lanes& a, const Lanes& b) {
  return compare_with(compare_instruction(a.lane), 0x03, a, b);
}

Lanes Avx512Isa::select(const Lanes& mask, const Lanes& if_true, const Lanes& if_false) {
  Lanes result{.lane = if_true.lane, .width = if_true.width};
  const Lanes k = with_width(mask, if_true.width);
  const InstId id = if_true.width == 8 ? Inst::kIdVblendmpd : Inst::kIdVblendmps;
  for (std::size_t p = 0; p < k.parts(); ++p) {
    const x86::Vec r = fresh();
    const x86::Vec otherwise = reg(if_false, p);
    const Operand_ then = rhs(if_true, p);
    // Every lane is written, which the register allocator cannot see in a masked instruction.
    cc.overwrite().k(k.part[p].as<x86::KReg>()).emit(id, r, otherwise, then);
    result.part[p] = r;
  }
  return result;
}

Lanes Avx512Isa::mask_logic(Micro op, const Lanes& a, const Lanes& b) {
  const Lanes other = with_width(b, a.width);
  const InstId id = op == Micro::And  ? Inst::kIdKandw
                    : op == Micro::Or ? Inst::kIdKorw
                                      : Inst::kIdKxorw;
  Lanes result{.lane = Lane::Mask, .width = a.width};
  for (std::size_t p = 0; p < a.parts(); ++p) {
    const x86::KReg k = fresh_mask();
    cc.emit(id, k, a.part[p], other.part[p]);
    result.part[p] = k;
  }
  return result;
}

Lanes Avx512Isa::mask_not(const Lanes& a) {
  Lanes result{.lane = Lane::Mask, .width = a.width};
  for (std::size_t p = 0; p < a.parts(); ++p) {
    const x86::KReg k = fresh_mask();
    cc.knotw(k, a.part[p].as<x86::KReg>());
    result.part[p] = k;
  }
  return result;
}

Lanes Avx512Isa::mask_to_int(const Lanes& mask) {
  const Lanes narrow_mask = with_width(mask, 4);
  const std::uint32_t one = 1;
  const x86::Mem data = cc.newConst(asmjit::ConstPoolScope::kLocal, &one, 4);
  const x86::Vec r = fresh();
  cc.k(narrow_mask.part[0].as<x86::KReg>()).z().emit(Inst::kIdVpbroadcastd, r, data);
  Lanes result{.lane = Lane::I32, .width = 4};
  result.part[0] = r;
  return result;
}

Lanes Avx512Isa::with_width(const Lanes& mask, std::uint8_t width) {
  if (mask.width == width) return mask;
  Lanes result{.lane = Lane::Mask, .width = width};
  const x86::KReg k = fresh_mask();
  if (width == 4) {
    cc.kunpckbw(k, mask.part[1].as<x86::KReg>(), mask.part[0].as<x86::KReg>());
    result.part[0] = k;
  } else {
    cc.kshiftrw(k, mask.part[0].as<x86::KReg>(), Imm(8));
    result.part = {mask.part[0], k};
  }
  return result;
}

Active Avx512Isa::first_lanes(const x86::Gp& count) {
  Active active{.all = false, .count = count};
  const x86::Gp ones = cc.newInt32();
  const x86::KReg k = fresh_mask();
  cc.mov(ones, -1);
  cc.bzhi(ones, ones, count.r32());
  cc.kmovw(k, ones);
  active.mask = Lanes{.lane = Lane::Mask, .width = 4};
  active.mask.part[0] = k;
  active.wide = with_width(active.mask, 8);
  return active;
}

void Avx512Isa::or_any(const x86::Mem& into, const Lanes& mask, const Active& active) {
  Lanes narrow_mask = with_width(mask, 4);
  if (!active.all) narrow_mask = mask_logic(Micro::And, narrow_mask, active.mask);
  const x86::Gp bits = cc.newInt32();
  cc.kmovw(bits, narrow_mask.part[0].as<x86::KReg>());
  cc.or_(into.cloneResized(4), bits);
}

Lanes Avx512Isa::multiply_i64(const Lanes& a, const Lanes& b) {
  return each_part(Inst::kIdVpmullq, Lane::I64, a, b);
}

Lanes Avx512Isa::shift_right_arith_i64(const Lanes& a, const Lanes& count) {
  return each_part(Inst::kIdVpsravq, Lane::I64, a, count);
}

Lanes Avx512Isa::convert_i64(const Lanes& a, Lane to) {
  if (to == Lane::F32) return narrow(Inst::kIdVcvtqq2ps, a, to);
  if (to == Lane::I32) return narrow(Inst::kIdVpmovqd, a, to);
  Lanes result{.lane = to, .width = 8};
  for (std::size_t p = 0; p < 2; ++p) result.part[p] = emit2(Inst::kIdVcvtqq2pd, reg(a, p));
  return result;
}

Lanes Avx512Isa::convert_to_i64(const Lanes& a) {
  if (a.lane == Lane::F32) return widen(Inst::kIdVcvttps2qq, a, Lane::I64);
  Lanes result{.lane = Lane::I64, .width = 8};
  for (std::size_t p = 0; p < 2; ++p) result.part[p] = emit2(Inst::kIdVcvttpd2qq, reg(a, p));
  return result;
}

x86::Vec Avx512Isa::upper_half(const x86::Vec& r) {
  const x86::Vec upper = fresh();
  cc.emit(Inst::kIdVextractf64x4, upper.ymm(), r, Imm(1));
  return upper;
}

x86::Vec Avx512Isa::join(const x86::Vec& low_half, const x86::Vec& high_half) {
  return emit4(Inst::kIdVinsertf64x4, low_half, high_half.ymm(), 1);
}

}  // namespace spyre::kernels
