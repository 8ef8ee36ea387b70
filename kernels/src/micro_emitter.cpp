// spyre/kernels/micro_emitter.cpp — micro-ops that are instructions, or a few.
#include "micro_emitter.h"

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::kernels {

using asmjit::Imm;

namespace {

bool is_float_lane(Lane lane) { return lane == Lane::F32 || lane == Lane::F64; }

bool commutes(Micro op) {
  switch (op) {
    case Micro::Add:
    case Micro::Mul:
    case Micro::And:
    case Micro::Or:
    case Micro::Xor:
    case Micro::MinNan:
    case Micro::MaxNan: return true;
    default: return false;
  }
}

bool is_nan(const Lanes& constant) {
  if (constant.lane == Lane::F64) return (constant.bits & ~(1ULL << 63)) > 0x7ff0000000000000ULL;
  return (constant.bits & 0x7fffffffU) > 0x7f800000U;
}

}  // namespace

void MicroEmitter::count_uses(const Segment& segment, std::size_t vectors) {
  std::vector<Slot> slots(segment.program.size());
  for (const MicroInstruction& in : segment.program)
    each_operand(in, [&](std::uint16_t i) { ++slots[i].remaining; });
  segment.each_output([&](std::uint16_t i) { ++slots[i].remaining; });
  all_slots_.assign(vectors, slots);
}

int& MicroEmitter::holders(const x86::Reg& r) {
  const std::size_t index = asmjit::Operand::virtIdToIndex(r.id());
  if (holders_.size() <= index) holders_.resize(index + 64, 0);
  return holders_[index];
}

int MicroEmitter::holders(const x86::Reg& r) const {
  const std::size_t index = asmjit::Operand::virtIdToIndex(r.id());
  return index < holders_.size() ? holders_[index] : 0;
}

void MicroEmitter::hold(const Slot& slot) {
  if (!slot.lanes.in_registers()) return;
  for (std::size_t p = 0; p < slot.lanes.parts(); ++p)
    holders(slot.lanes.part[p]) += slot.lasting ? 1 << 20 : 1;
}

void MicroEmitter::drop_operand(std::uint16_t index) {
  Slot& slot = (*slots_)[index];
  if (--slot.remaining != 0 || slot.lasting || !slot.lanes.in_registers()) return;
  for (std::size_t p = 0; p < slot.lanes.parts(); ++p)
    if (--holders(slot.lanes.part[p]) == 0) isa_.release(slot.lanes.part[p]);
}

bool MicroEmitter::dies(std::uint16_t index) const {
  const Slot& slot = (*slots_)[index];
  if (!slot.lanes.in_registers() || slot.lasting || slot.remaining != 1) return false;
  for (std::size_t p = 0; p < slot.lanes.parts(); ++p)
    if (holders(slot.lanes.part[p]) != 1) return false;
  return slot.lanes.parts() == 1 || slot.lanes.part[0].id() != slot.lanes.part[1].id();
}

std::vector<Lanes> MicroEmitter::emit(const Segment& segment,
                                      const std::vector<Lanes>& kernel_values,
                                      const Active& active) {
  const Vectors one{
      .input = [&](std::uint16_t value, int) { return InputLanes{.lanes = kernel_values[value]}; }};
  return std::move(emit(segment, one, active).front());
}

std::vector<std::vector<Lanes>> MicroEmitter::emit(const Segment& segment, const Vectors& vectors,
                                                   const Active& active) {
  program_ = &segment.program;
  active_ = &active;
  const auto count = static_cast<std::size_t>(vectors.count);
  holders_.assign(holders_.size(), 0);
  count_uses(segment, count);
  for (std::size_t i = 0; i < program_->size(); ++i)
    for (std::size_t v = 0; v < count; ++v) emit_for(v, static_cast<std::uint16_t>(i), vectors);
  std::vector<std::vector<Lanes>> made(count);
  for (std::size_t v = 0; v < count; ++v)
    for (const Slot& slot : all_slots_[v]) made[v].push_back(slot.lanes);
  return made;
}

void MicroEmitter::emit_for(std::size_t vector, std::uint16_t index, const Vectors& vectors) {
  slots_ = &all_slots_[vector];
  const MicroInstruction& in = (*program_)[index];
  Slot& slot = (*slots_)[index];
  const std::size_t mark = isa_.mark();
  if (in.op == Micro::Const) {
    slot.lanes = in.lane == Lane::Mask ? isa_.mask_constant(in.imm != 0)
                                       : VectorIsa::constant(in.lane, in.imm);
  } else if (in.op == Micro::Input) {
    const InputLanes input =
        vectors.input(static_cast<std::uint16_t>(in.imm), static_cast<int>(vector));
    ensure(!input.lanes.in_registers() || input.lanes.part[0].isValid(),
           "a program reads only values made before it");
    slot.lanes = input.lanes;
    slot.lasting = !input.temporary;
  } else {
    slot.lanes = emit_one(in);
  }
  hold(slot);
  isa_.release_since(mark, [&](const x86::Reg& r) { return holders(r) > 0; });
  each_operand(in, [&](std::uint16_t operand) { drop_operand(operand); });
  hand_over(vector, index, vectors);
}

/// The next vector that shares a state reads what this one made of it.
void MicroEmitter::hand_over(std::size_t vector, std::uint16_t index, const Vectors& vectors) {
  if (vectors.shared == 0) return;
  const std::size_t next = vector + static_cast<std::size_t>(vectors.shared);
  if (next >= all_slots_.size()) return;
  for (const Binding& state : vectors.shared_states) {
    if (state.position != index) continue;
    Slot& made = (*slots_)[index];
    Slot& read = all_slots_[next][state.value];
    for (std::size_t p = 0; p < read.lanes.parts() && read.lasting; ++p)
      holders(read.lanes.part[p]) -= 1 << 20;
    read.lanes = made.lanes;
    read.lasting = false;
    hold(read);
    drop_operand(index);  // the use as this vector's output
  }
}

Lanes MicroEmitter::emit_one(const MicroInstruction& in) {
  const Lanes& a = value(in.a);
  switch (in.op) {
    case Micro::Eq:
    case Micro::Ne:
    case Micro::Lt:
    case Micro::Le: return isa_.compare(in.op, a, value(in.b));
    case Micro::Select: return select(in);
    case Micro::MaskToInt: return isa_.mask_to_int(a);
    case Micro::ToF32:
    case Micro::ToF64:
    case Micro::ToI32:
    case Micro::ToI64: return convert(a, in.lane);
    case Micro::BitsToFloat:
    case Micro::BitsToInt: return reinterpret(a, in.lane);
    case Micro::RoundF16: return round_f16(a);
    case Micro::RoundBF16: return isa_.round_bf16(a, NanBits::Any);
    case Micro::RoundBF16ShortNan: return isa_.round_bf16(a, NanBits::Short);
    case Micro::WrapI8:
    case Micro::WrapU8:
    case Micro::WrapI16: return wrap(in);
    case Micro::Math1:
    case Micro::Math2: return math(in);
    default: return arithmetic(in);
  }
}

Lanes MicroEmitter::arithmetic(const MicroInstruction& in) {
  const Lanes& a = value(in.a);
  if (const InstId id = isa_.direct(in.op, in.lane); id != 0) return direct(id, in);
  switch (in.op) {
    case Micro::Mul: return isa_.multiply_i64(a, value(in.b));
    case Micro::ShrArith: return isa_.shift_right_arith_i64(a, value(in.b));
    case Micro::MinNan:
    case Micro::MaxNan: return min_max(in);
    case Micro::Fma: return fused_multiply_add(in);
    case Micro::Scale: return isa_.scale(a, value(in.b));
    case Micro::Sqrt:
      return unary(in.lane == Lane::F64 ? Inst::kIdVsqrtpd : Inst::kIdVsqrtps, a, in.lane);
    case Micro::Neg:
    case Micro::Abs: return sign_operation(in);
    case Micro::RoundEven:
    case Micro::Floor:
    case Micro::Ceil:
    case Micro::Trunc: return round_to_integral(in);
    case Micro::Not: return in.lane == Lane::Mask ? isa_.mask_not(a) : bitwise_not(a);
    case Micro::And:
    case Micro::Or:
    case Micro::Xor: return isa_.mask_logic(in.op, a, value(in.b));
    case Micro::MulHiU32: return multiply_high(in);
    case Micro::IntDivTrunc:
    case Micro::IntRem: return in.lane == Lane::I64 ? divide_i64(in) : divide_i32(in);
    default:
      throw InternalError(
          str("no instructions for micro-op ", name_of(in.op), " on ", name_of(in.lane)));
  }
}

Lanes MicroEmitter::direct(InstId id, const MicroInstruction& in) {
  const Lanes *a = &value(in.a), *b = &value(in.b);
  if (!a->in_registers() && commutes(in.op)) std::swap(a, b);
  return isa_.each_part(id, in.lane, *a, *b);
}

Lanes MicroEmitter::unary(InstId id, const Lanes& a, Lane to) {
  Lanes result{.lane = to, .width = width_of(to)};
  for (std::size_t p = 0; p < result.parts(); ++p) result.part[p] = isa_.emit2(id, isa_.reg(a, p));
  return result;
}

Lanes MicroEmitter::unsigned_constant(Lane like, std::uint64_t bits_32, std::uint64_t bits_64) {
  return VectorIsa::constant(like, width_of(like) == 8 ? bits_64 : bits_32);
}

Lanes MicroEmitter::logic(Micro op, const Lanes& a, const Lanes& b) {
  return isa_.each_part(isa_.direct(op, a.lane), a.lane, a, b);
}

/// With a constant in front the instruction's own rule is right: the second operand wins if it is a NaN or both
/// are zeros. Only max(+0, -0) must still become +0, and min(-0, +0) must become -0.
Lanes MicroEmitter::bounded(InstId id, const Lanes& bound, const Lanes& a) {
  Lanes result = isa_.each_part(id, a.lane, isa_.in_registers(bound), a);
  const std::uint64_t sign = a.lane == Lane::F64 ? 1ULL << 63 : 0x80000000U;
  const bool is_max = id == Inst::kIdVmaxps || id == Inst::kIdVmaxpd;
  if (is_max && bound.bits == 0)
    return isa_.each_part(isa_.direct(Micro::Add, a.lane), a.lane, result, bound);
  if (!is_max && bound.bits == sign) {
    const Lanes zero = VectorIsa::constant(a.lane, 0);
    return isa_.select(isa_.compare(Micro::Eq, result, zero), bound, result);
  }
  return result;
}

Lanes MicroEmitter::min_max(const MicroInstruction& in) {
  const bool is_min = in.op == Micro::MinNan;
  Lanes a = value(in.a);
  Lanes b = value(in.b);
  if (!is_float_lane(in.lane)) {  // I64 without a direct instruction
    const Lanes less = isa_.compare(Micro::Lt, a, b);
    return is_min ? isa_.select(less, a, b) : isa_.select(less, b, a);
  }
  const bool wide = in.lane == Lane::F64;
  if (a.constant()) std::swap(a, b);
  if (!b.constant() || is_nan(b)) return isa_.min_max(in.op, isa_.in_registers(a), b);
  return bounded(is_min ? (wide ? Inst::kIdVminpd : Inst::kIdVminps)
                        : (wide ? Inst::kIdVmaxpd : Inst::kIdVmaxps),
                 b, a);
}

Lanes MicroEmitter::fused_multiply_add(const MicroInstruction& in) {
  Lanes result{.lane = in.lane, .width = width_of(in.lane)};
  for (std::size_t p = 0; p < result.parts(); ++p) result.part[p] = fused_part(in, p);
  return result;
}

/// a * b + c overwrites one of the three, and one of the others may be in memory: a value that nobody needs any
/// more is overwritten, else a fresh register with c in it.
x86::Vec MicroEmitter::fused_part(const MicroInstruction& in, std::size_t p) {
  const bool wide = in.lane == Lane::F64;
  std::uint16_t a = in.a;
  std::uint16_t b = in.b;
  if (!value(a).in_registers() || dies(b)) std::swap(a, b);
  if (dies(a) && !dies(in.c)) {
    const x86::Vec r = isa_.reg(value(a), p);
    if (value(b).in_registers()) {
      cc_.emit(wide ? Inst::kIdVfmadd213pd : Inst::kIdVfmadd213ps, r, isa_.reg(value(b), p),
               isa_.rhs(value(in.c), p));
    } else {
      cc_.emit(wide ? Inst::kIdVfmadd132pd : Inst::kIdVfmadd132ps, r, isa_.reg(value(in.c), p),
               isa_.rhs(value(b), p));
    }
    return r;
  }
  const x86::Vec factor = isa_.reg(value(a), p);
  x86::Vec r = isa_.reg(value(in.c), p);
  if (value(in.c).in_registers() && !dies(in.c)) r = isa_.emit2(Inst::kIdVmovaps, r);
  cc_.emit(wide ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps, r, factor, isa_.rhs(value(b), p));
  return r;
}

Lanes MicroEmitter::sign_operation(const MicroInstruction& in) {
  const Lanes& a = value(in.a);
  if (is_float_lane(in.lane)) {
    if (in.op == Micro::Neg)
      return logic(Micro::Xor, a, unsigned_constant(in.lane, 0x80000000U, 1ULL << 63));
    return logic(Micro::And, a, unsigned_constant(in.lane, 0x7fffffffU, ~(1ULL << 63)));
  }
  if (in.op == Micro::Abs) return integer_abs(a);
  return isa_.each_part(isa_.direct(Micro::Sub, in.lane), in.lane, VectorIsa::constant(in.lane, 0),
                        a);
}

Lanes MicroEmitter::integer_abs(const Lanes& a) {
  if (a.lane == Lane::I32) return unary(Inst::kIdVpabsd, a, a.lane);
  const Lanes zero = VectorIsa::constant(a.lane, 0);
  const Lanes negated = isa_.each_part(Inst::kIdVpsubq, a.lane, zero, a);
  return isa_.select(isa_.compare(Micro::Lt, isa_.in_registers(a), isa_.in_registers(zero)),
                     negated, a);
}

Lanes MicroEmitter::bitwise_not(const Lanes& a) {
  return logic(Micro::Xor, a,
               VectorIsa::constant(a.lane, width_of(a.lane) == 8 ? ~0ULL : 0xffffffffULL));
}

Lanes MicroEmitter::round_to_integral(const MicroInstruction& in) {
  int mode = 0x08;  // to nearest even, no exceptions
  if (in.op == Micro::Floor) mode = 0x09;
  if (in.op == Micro::Ceil) mode = 0x0a;
  if (in.op == Micro::Trunc) mode = 0x0b;
  const Lanes& a = value(in.a);
  Lanes result{.lane = in.lane, .width = width_of(in.lane)};
  for (std::size_t p = 0; p < result.parts(); ++p)
    result.part[p] = isa_.emit3(isa_.round_instruction(in.lane), isa_.reg(a, p), mode);
  return result;
}

Lanes MicroEmitter::multiply_high(const MicroInstruction& in) {
  const x86::Vec a = isa_.reg(value(in.a), 0);
  const x86::Vec b = isa_.reg(value(in.b), 0);
  const x86::Vec even = isa_.emit3(Inst::kIdVpmuludq, a, b);
  const x86::Vec odd = isa_.emit3(Inst::kIdVpmuludq, isa_.emit3(Inst::kIdVpsrlq, a, 32),
                                  isa_.emit3(Inst::kIdVpsrlq, b, 32));
  // The high words, as even even odd odd, then put in turn.
  const x86::Vec high = isa_.emit4(Inst::kIdVshufps, even, odd, 0xdd);
  Lanes result{.lane = Lane::I32, .width = 4};
  result.part[0] = isa_.emit3(Inst::kIdVpshufd, high, 0xd8);
  return result;
}

Lanes MicroEmitter::select(const MicroInstruction& in) {
  const Lanes& mask = value(in.a);
  if (in.lane != Lane::Mask) return isa_.select(mask, value(in.b), value(in.c));
  const Lanes chosen = isa_.mask_logic(Micro::And, mask, value(in.b));
  return isa_.mask_logic(Micro::Or, chosen,
                         isa_.mask_logic(Micro::And, isa_.mask_not(mask), value(in.c)));
}

Lanes MicroEmitter::reinterpret(const Lanes& a, Lane to) {
  Lanes result = a;
  result.lane = to;
  return result;
}

Lanes MicroEmitter::convert(const Lanes& a, Lane to) {
  const Lane from = a.lane;
  if (from == to) return a;
  if (from == Lane::Mask) return convert(isa_.mask_to_int(a), to);
  if (from == Lane::I64) return isa_.convert_i64(a, to);
  if (to == Lane::I64 && is_float_lane(from)) return isa_.convert_to_i64(a);
  if (from == Lane::I32) {
    if (to == Lane::F32) return unary(Inst::kIdVcvtdq2ps, a, to);
    return isa_.widen(to == Lane::F64 ? Inst::kIdVcvtdq2pd : Inst::kIdVpmovsxdq, a, to);
  }
  if (from == Lane::F32) {
    if (to == Lane::I32) return unary(Inst::kIdVcvttps2dq, a, to);
    return isa_.widen(Inst::kIdVcvtps2pd, a, to);
  }
  return isa_.narrow(to == Lane::F32 ? Inst::kIdVcvtpd2ps : Inst::kIdVcvttpd2dq, a, to);
}

Lanes MicroEmitter::round_f16(const Lanes& a) {
  const x86::Vec packed = isa_.fresh();
  cc_.emit(Inst::kIdVcvtps2ph, isa_.half(packed), isa_.reg(a, 0), Imm(0));
  Lanes result{.lane = Lane::F32, .width = 4};
  result.part[0] = isa_.emit2(Inst::kIdVcvtph2ps, isa_.half(packed));
  return result;
}

Lanes MicroEmitter::wrap(const MicroInstruction& in) {
  const Lanes& a = value(in.a);
  if (in.op == Micro::WrapU8) return logic(Micro::And, a, VectorIsa::constant(Lane::I32, 0xff));
  const int unused = in.op == Micro::WrapI8 ? 24 : 16;
  Lanes result{.lane = Lane::I32, .width = 4};
  result.part[0] =
      isa_.emit3(Inst::kIdVpsrad, isa_.emit3(Inst::kIdVpslld, isa_.reg(a, 0), unused), unused);
  return result;
}

}  // namespace spyre::kernels
