// spyre/kernels/avx2_isa.cpp — registers and masks on AVX2; a mask is a vector of all-ones or all-zero lanes.
#include "avx2_isa.h"

#include <array>

#include "direct_instructions.h"

namespace spyre::kernels {

using asmjit::Imm;

namespace {

constexpr DirectRow kAvx2Rows[] = {
    {Micro::And, {Inst::kIdVandps, Inst::kIdVandpd, Inst::kIdVpand, Inst::kIdVpand}},
    {Micro::Or, {Inst::kIdVorps, Inst::kIdVorpd, Inst::kIdVpor, Inst::kIdVpor}},
    {Micro::Xor, {Inst::kIdVxorps, Inst::kIdVxorpd, Inst::kIdVpxor, Inst::kIdVpxor}},
};

int float_predicate(Micro op) {
  switch (op) {
    case Micro::Eq: return 0x00;  // EQ_OQ
    case Micro::Ne: return 0x04;  // NEQ_UQ
    case Micro::Lt: return 0x11;  // LT_OQ
    default: return 0x12;         // LE_OQ
  }
}

}  // namespace

x86::Mem Avx2Isa::constant_operand(std::uint8_t width, std::uint64_t bits) {
  std::array<std::uint64_t, 4> data;
  data.fill(width == 8 ? bits : (bits << 32) | (bits & 0xffffffffU));
  return cc.newConst(asmjit::ConstPoolScope::kLocal, data.data(), sizeof(data));
}

Lanes Avx2Isa::parked(const Lanes& value) {
  Lanes result{.lane = value.lane, .width = value.width, .home = Lanes::Home::Memory};
  result.memory = cc.newStack(32, 32);
  cc.emit(Inst::kIdVmovaps, result.memory, reg(value, 0));
  return result;
}

x86::Vec Avx2Isa::unparked(const x86::Mem& memory, std::uint8_t) {
  return emit2(Inst::kIdVmovaps, memory);
}

InstId Avx2Isa::direct(Micro op, Lane lane) const {
  const InstId id = find_direct(common_direct_rows(), op, lane);
  return id != 0 ? id : find_direct(kAvx2Rows, op, lane);
}

InstId Avx2Isa::round_instruction(Lane lane) const {
  return lane == Lane::F64 ? Inst::kIdVroundpd : Inst::kIdVroundps;
}

Lanes Avx2Isa::mask_constant(bool value) {
  Lanes result{.lane = Lane::Mask, .width = 4};
  result.part[0] = materialise(4, value ? 0xffffffffU : 0);
  return result;
}

Lanes Avx2Isa::compare_float(int predicate, const Lanes& a, const Lanes& b) {
  const InstId id = a.lane == Lane::F64 ? Inst::kIdVcmppd : Inst::kIdVcmpps;
  Lanes result{.lane = Lane::Mask, .width = a.width};
  for (std::size_t p = 0; p < a.parts(); ++p)
    result.part[p] = emit4(id, reg(a, p), rhs(b, p), predicate);
  return result;
}

Lanes Avx2Isa::compare_int(Micro op, const Lanes& a, const Lanes& b) {
  const bool wide = a.width == 8;
  const bool equality = op == Micro::Eq || op == Micro::Ne;
  const InstId id = equality ? (wide ? Inst::kIdVpcmpeqq : Inst::kIdVpcmpeqd)
                             : (wide ? Inst::kIdVpcmpgtq : Inst::kIdVpcmpgtd);
  // a < b is b > a; a <= b is not a > b; a != b is not a == b.
  const bool swap = op == Micro::Lt;
  Lanes result = each_part(id, Lane::Mask, swap ? b : a, swap ? a : b);
  return op == Micro::Ne || op == Micro::Le ? mask_not(result) : result;
}

Lanes Avx2Isa::compare(Micro op, const Lanes& a, const Lanes& b) {
  const bool floats = a.lane == Lane::F32 || a.lane == Lane::F64;
  return floats ? compare_float(float_predicate(op), a, b) : compare_int(op, a, b);
}

/// The instructions return the second operand for zeros and NaN, so both orders are taken: their bits OR-ed give -0
/// for min, AND-ed +0 for max. A NaN on either side is made by adding.
Lanes Avx2Isa::min_max(Micro op, const Lanes& a, const Lanes& b) {
  const bool is_min = op == Micro::MinNan;
  const bool wide = a.lane == Lane::F64;
  const InstId id = is_min ? (wide ? Inst::kIdVminpd : Inst::kIdVminps)
                           : (wide ? Inst::kIdVmaxpd : Inst::kIdVmaxps);
  const Lanes forward = each_part(id, a.lane, a, b);
  const Lanes backward = each_part(id, a.lane, in_registers(b), a);
  const InstId logic = direct(is_min ? Micro::Or : Micro::And, a.lane);
  const Lanes both = each_part(logic, a.lane, forward, backward);
  const Lanes sum = each_part(direct(Micro::Add, a.lane), a.lane, a, b);
  return select(unordered(a, b), sum, both);
}

/// In two steps, for exponents beyond those of normal numbers: half of it is added to the exponent of `a`, which leaves
/// a normal number; a product with two to the rest rounds once. Of a NaN, the conversion makes steps that change nothing.
Lanes Avx2Isa::scale(const Lanes& a, const Lanes& b) {
  constexpr int kFraction = 23;
  const x86::Vec exponent = emit2(Inst::kIdVcvtps2dq, reg(b, 0));
  const x86::Vec half = emit3(Inst::kIdVpsrad, exponent, 1);
  const x86::Vec rest = emit3(Inst::kIdVpsubd, exponent, half);
  const x86::Vec part = emit3(Inst::kIdVpaddd, reg(a, 0), emit3(Inst::kIdVpslld, half, kFraction));
  const x86::Vec biased = emit3(Inst::kIdVpaddd, rest, constant_operand(4, 127));
  Lanes result{.lane = Lane::F32, .width = 4};
  result.part[0] = emit3(Inst::kIdVmulps, part, emit3(Inst::kIdVpslld, biased, kFraction));
  return result;
}

/// `otherwise`, but a quiet `x` where that is NaN.
x86::Vec Avx2Isa::quiet_where_nan(const x86::Vec& x, const x86::Vec& otherwise) {
  constexpr std::uint64_t kQuiet = 0x400000;
  const x86::Vec quiet = emit3(Inst::kIdVpor, x, constant_operand(4, kQuiet));
  const x86::Vec is_nan = emit4(Inst::kIdVcmpps, x, x, 3);
  const x86::Vec chosen = fresh();
  cc.emit(Inst::kIdVblendvps, chosen, otherwise, quiet, is_nan);
  return chosen;
}

Lanes Avx2Isa::round_bf16(const Lanes& a, NanBits nan) {
  constexpr std::uint64_t kHalf = 0x8000, kUpper = 0xffff0000U;
  const x86::Vec x = reg(a, 0);
  const x86::Vec odd = emit3(Inst::kIdVpand, emit3(Inst::kIdVpsrld, x, 16), constant_operand(4, 1));
  const x86::Vec biased = emit3(Inst::kIdVpaddd, x, constant_operand(4, kHalf - 1));
  x86::Vec rounded = emit3(Inst::kIdVpaddd, biased, odd);
  if (nan == NanBits::Any) rounded = quiet_where_nan(x, rounded);
  Lanes result{.lane = Lane::F32, .width = 4};
  result.part[0] = emit3(Inst::kIdVpand, rounded, constant_operand(4, kUpper));
  return result;
}

Lanes Avx2Isa::unordered(const Lanes& a, const Lanes& b) { return compare_float(0x03, a, b); }

Lanes Avx2Isa::select(const Lanes& mask, const Lanes& if_true, const Lanes& if_false) {
  Lanes result{.lane = if_true.lane, .width = if_true.width};
  const Lanes m = with_width(mask, if_true.width);
  const InstId id = if_true.width == 8 ? Inst::kIdVblendvpd : Inst::kIdVblendvps;
  for (std::size_t p = 0; p < m.parts(); ++p) {
    const x86::Vec r = fresh();
    const x86::Vec otherwise = reg(if_false, p);
    const Operand_ then = rhs(if_true, p);
    cc.emit(id, r, otherwise, then, m.part[p]);
    result.part[p] = r;
  }
  return result;
}

Lanes Avx2Isa::mask_logic(Micro op, const Lanes& a, const Lanes& b) {
  const InstId id = op == Micro::And  ? Inst::kIdVandps
                    : op == Micro::Or ? Inst::kIdVorps
                                      : Inst::kIdVxorps;
  return each_part(id, Lane::Mask, a, with_width(b, a.width));
}

Lanes Avx2Isa::mask_not(const Lanes& a) {
  Lanes ones = constant(Lane::Mask, ~std::uint64_t{0});
  ones.width = a.width;
  return each_part(Inst::kIdVpxor, Lane::Mask, a, ones);
}

Lanes Avx2Isa::mask_to_int(const Lanes& mask) {
  Lanes result{.lane = Lane::I32, .width = 4};
  result.part[0] = emit3(Inst::kIdVpsrld, reg(with_width(mask, 4), 0), 31);
  return result;
}

/// The low half of each 8-byte lane, in order, in one register.
x86::Vec Avx2Isa::low_words(const x86::Vec& part0, const x86::Vec& part1) {
  return emit3(Inst::kIdVpermq, emit4(Inst::kIdVshufps, part0, part1, 0x88), 0xd8);
}

Lanes Avx2Isa::with_width(const Lanes& mask, std::uint8_t width) {
  if (mask.width == width) return mask;
  if (width == 8) return widen(Inst::kIdVpmovsxdq, mask, Lane::Mask);
  Lanes result{.lane = Lane::Mask, .width = 4};
  result.part[0] = low_words(reg(mask, 0), reg(mask, 1));
  return result;
}

Active Avx2Isa::first_lanes(const x86::Gp& count) {
  static constexpr std::array<std::int32_t, 8> kIndex{0, 1, 2, 3, 4, 5, 6, 7};
  Active active{.all = false, .count = count};
  const x86::Vec r = fresh();
  cc.emit(Inst::kIdVmovd, r.xmm(), count.r32());
  const x86::Vec all = emit2(Inst::kIdVpbroadcastd, r.xmm());
  const x86::Mem index = cc.newConst(asmjit::ConstPoolScope::kLocal, kIndex.data(), sizeof(kIndex));
  active.mask = Lanes{.lane = Lane::Mask, .width = 4};
  active.mask.part[0] = emit3(Inst::kIdVpcmpgtd, all, index);
  active.wide = with_width(active.mask, 8);
  return active;
}

void Avx2Isa::or_any(const x86::Mem& into, const Lanes& mask, const Active& active) {
  Lanes narrow_mask = with_width(mask, 4);
  if (!active.all) narrow_mask = mask_logic(Micro::And, narrow_mask, active.mask);
  const x86::Gp bits = cc.newInt32();
  cc.emit(Inst::kIdVmovmskps, bits, reg(narrow_mask, 0));
  cc.or_(into.cloneResized(4), bits);
}

x86::Vec Avx2Isa::upper_half(const x86::Vec& r) {
  const x86::Vec upper = fresh();
  cc.emit(Inst::kIdVextractf128, upper.xmm(), r, Imm(1));
  return upper;
}

x86::Vec Avx2Isa::join(const x86::Vec& low_half, const x86::Vec& high_half) {
  return emit4(Inst::kIdVinsertf128, low_half, high_half.xmm(), 1);
}

}  // namespace spyre::kernels
