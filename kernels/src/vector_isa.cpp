// spyre/kernels/vector_isa.cpp — what AVX2 and AVX-512 share once register width is abstracted away.
#include "vector_isa.h"

#include "spyre/base/error.h"

namespace spyre::kernels {

using asmjit::Imm;

Lanes VectorIsa::constant(Lane lane, std::uint64_t bits) {
  Lanes value{.lane = lane, .width = width_of(lane), .home = Lanes::Home::Constant, .bits = bits};
  return value;
}

x86::Reg VectorIsa::hand_out(const x86::Reg& r) {
  const std::size_t index = asmjit::Operand::virtIdToIndex(r.id());
  if (in_use_.size() <= index) in_use_.resize(index + 64);
  in_use_[index] = true;
  handed_out_.push_back(r);
  return r;
}

x86::Vec VectorIsa::fresh() {
  if (free_vectors_.empty()) return hand_out(new_vector()).as<x86::Vec>();
  const x86::Reg r = free_vectors_.back();
  free_vectors_.pop_back();
  return hand_out(r).as<x86::Vec>();
}

x86::KReg VectorIsa::fresh_mask() {
  if (free_masks_.empty()) return hand_out(cc.newKw()).as<x86::KReg>();
  const x86::Reg r = free_masks_.back();
  free_masks_.pop_back();
  return hand_out(r).as<x86::KReg>();
}

void VectorIsa::release(const x86::Reg& r) {
  const std::size_t index = asmjit::Operand::virtIdToIndex(r.id());
  if (!in_use_[index]) return;
  in_use_[index] = false;
  (r.isKReg() ? free_masks_ : free_vectors_).push_back(r);
}

x86::Vec VectorIsa::materialise(std::uint8_t width, std::uint64_t bits) {
  const x86::Vec r = fresh();
  if (bits == 0) {
    cc.emit(Inst::kIdVxorps, r.xmm(), r.xmm(), r.xmm());
    return r;
  }
  const asmjit::ConstPoolScope scope = asmjit::ConstPoolScope::kLocal;
  cc.emit(width == 8 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, r,
          cc.newConst(scope, &bits, width));
  return r;
}

x86::Vec VectorIsa::reg(const Lanes& value, std::size_t part) {
  if (value.constant()) return materialise(value.width, value.bits);
  if (!value.in_registers()) return unparked(value.memory, value.width);
  return value.part[part].as<x86::Vec>();
}

Operand_ VectorIsa::rhs(const Lanes& value, std::size_t part) {
  if (value.constant()) return constant_operand(value.width, value.bits);
  if (!value.in_registers()) return value.memory;
  return value.part[part];
}

Lanes VectorIsa::in_registers(const Lanes& value) {
  if (value.in_registers()) return value;
  Lanes result{.lane = value.lane, .width = value.width};
  result.part[0] = reg(value, 0);
  result.part[1] = result.part[0];
  return result;
}

x86::Vec VectorIsa::emit2(InstId id, const Operand_& a) {
  const x86::Vec r = fresh();
  cc.emit(id, r, a);
  return r;
}

x86::Vec VectorIsa::emit3(InstId id, const Operand_& a, const Operand_& b) {
  const x86::Vec r = fresh();
  cc.emit(id, r, a, b);
  return r;
}

x86::Vec VectorIsa::emit3(InstId id, const Operand_& a, int immediate) {
  const x86::Vec r = fresh();
  cc.emit(id, r, a, Imm(immediate));
  return r;
}

x86::Vec VectorIsa::emit4(InstId id, const Operand_& a, const Operand_& b, int immediate) {
  const x86::Vec r = fresh();
  cc.emit(id, r, a, b, Imm(immediate));
  return r;
}

Lanes VectorIsa::each_part(InstId id, Lane lane, const Lanes& a, const Lanes& b) {
  Lanes result{.lane = lane, .width = a.width};
  for (std::size_t p = 0; p < a.parts(); ++p) result.part[p] = emit3(id, reg(a, p), rhs(b, p));
  return result;
}

Lanes VectorIsa::widen(InstId id, const Lanes& a, Lane to) {
  Lanes result{.lane = to, .width = 8};
  const x86::Vec source = reg(a, 0);
  result.part[0] = emit2(id, half(source));
  result.part[1] = emit2(id, half(upper_half(source)));
  return result;
}

Lanes VectorIsa::narrow(InstId id, const Lanes& a, Lane to) {
  Lanes result{.lane = to, .width = 4};
  const x86::Vec low = fresh();
  const x86::Vec high = fresh();
  cc.emit(id, half(low), reg(a, 0));
  cc.emit(id, half(high), reg(a, 1));
  result.part[0] = join(low, high);
  return result;
}

Lanes VectorIsa::splat(const x86::Gp& value) {
  Lanes result{.lane = Lane::I64, .width = 8};
  const x86::Vec r = fresh();
  cc.emit(Inst::kIdVmovq, r.xmm(), value);
  result.part[0] = result.part[1] = emit2(Inst::kIdVpbroadcastq, r.xmm());
  return result;
}

Lanes VectorIsa::lane_index() {
  Lanes result{.lane = Lane::I64, .width = 8};
  std::array<std::int64_t, 16> index{};
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::int64_t>(i);
  const std::size_t per_part = static_cast<std::size_t>(lanes()) / 2;
  for (std::size_t p = 0; p < 2; ++p) {
    const x86::Mem data =
        cc.newConst(asmjit::ConstPoolScope::kLocal, &index[p * per_part], per_part * 8);
    result.part[p] = emit2(Inst::kIdVmovups, data);
  }
  return result;
}

x86::Mem VectorIsa::slot(int which) {
  const auto i = static_cast<std::size_t>(which);
  if (!has_slot_[i]) slots_[i] = cc.newStack(128, 64);
  has_slot_[i] = true;
  return slots_[i];
}

void VectorIsa::store_raw(const x86::Mem& at, const Lanes& value) {
  for (std::size_t p = 0; p < value.parts(); ++p)
    cc.emit(Inst::kIdVmovups, at.cloneAdjusted(p * register_bytes()), reg(value, p));
}

Lanes VectorIsa::load_raw(Lane lane, const x86::Mem& at) {
  Lanes result{.lane = lane, .width = width_of(lane)};
  for (std::size_t p = 0; p < result.parts(); ++p)
    result.part[p] = emit2(Inst::kIdVmovups, at.cloneAdjusted(p * register_bytes()));
  return result;
}

Lanes VectorIsa::shifted(const Lanes& value, int distance) {
  Lanes result = value;
  const int bytes = distance * value.width;
  const x86::Vec low = reg(value, 0);
  if (bytes == register_bytes()) {
    result.part[0] = value.part[1];
    return result;
  }
  const x86::Vec r = fresh();
  switch (bytes) {
    case 32: cc.emit(Inst::kIdVextractf64x4, r.ymm(), low.zmm(), Imm(1)); break;
    case 16: cc.emit(Inst::kIdVextractf128, r.xmm(), low.ymm(), Imm(1)); break;
    case 8: cc.emit(Inst::kIdVpshufd, r.xmm(), low.xmm(), Imm(0xee)); break;
    case 4: cc.emit(Inst::kIdVpshufd, r.xmm(), low.xmm(), Imm(0x55)); break;
    default: ensure(false, "lanes shift by a power of two below the vector's length");
  }
  result.part[0] = r;
  return result;
}

Lanes VectorIsa::first_on_all(const Lanes& value) {
  Lanes result{.lane = value.lane, .width = value.width};
  const InstId id = value.width == 8 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss;
  result.part[0] = emit2(id, reg(value, 0).xmm());
  result.part[1] = result.part[0];
  return result;
}

}  // namespace spyre::kernels
