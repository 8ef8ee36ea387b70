// spyre/kernels/strided_access.cpp — elements that are not side by side: one at a time, through a
// stack slot.
//
// Also the single-element forms: a value that every lane shares, and the result of a row.
#include "spyre/base/error.h"
#include "vector_isa.h"

namespace spyre::kernels {
namespace {

using asmjit::Imm;

void move_element(x86::Compiler& cc, int size, const x86::Mem& to, const x86::Mem& from,
                  const x86::Gp& r) {
  switch (size) {
    case 1:
      cc.movzx(r.r32(), from.cloneResized(1));
      cc.mov(to.cloneResized(1), r.r8());
      break;
    case 2:
      cc.movzx(r.r32(), from.cloneResized(2));
      cc.mov(to.cloneResized(2), r.r16());
      break;
    case 4:
      cc.mov(r.r32(), from.cloneResized(4));
      cc.mov(to.cloneResized(4), r.r32());
      break;
    default: cc.mov(r, from.cloneResized(8)); cc.mov(to.cloneResized(8), r);
  }
}

/// The integer or BF16 pattern of one element, extended to 32 bits.
x86::Gp load_small(x86::Compiler& cc, DType type, const x86::Mem& at) {
  const x86::Gp r = cc.newInt32();
  switch (type) {
    case DType::I8: cc.movsx(r, at.cloneResized(1)); break;
    case DType::I16: cc.movsx(r, at.cloneResized(2)); break;
    case DType::Bool:
    case DType::U8: cc.movzx(r, at.cloneResized(1)); break;
    default: cc.movzx(r, at.cloneResized(2));
  }
  if (type == DType::BF16) cc.shl(r, 16);
  return r;
}

/// One element from the lowest lane. Not by way of a general register: the register allocator would
/// turn `vmovd eax, xmm` of a spilled value into `vmovd eax, [stack]`, which does not exist.
void store_small(x86::Compiler& cc, DType type, const x86::Mem& at, const x86::Vec& r) {
  if (size_of(type) == 1) {
    cc.emit(Inst::kIdVpextrb, at.cloneResized(1), r.xmm(), Imm(0));
  } else {
    cc.emit(Inst::kIdVpextrw, at.cloneResized(2), r.xmm(), Imm(type == DType::BF16 ? 1 : 0));
  }
}

}  // namespace

void VectorIsa::copy_elements(int size, const x86::Mem& to, const x86::Gp& to_stride,
                              const x86::Mem& from, const x86::Gp& from_stride,
                              const Active& active) {
  const x86::Gp source = cc.newIntPtr();
  const x86::Gp target = cc.newIntPtr();
  const x86::Gp element = cc.newInt64();
  cc.lea(source, from.cloneResized(0));
  cc.lea(target, to.cloneResized(0));
  const auto step = [&](const x86::Gp& p, const x86::Gp& stride) {
    if (stride.isValid()) {
      cc.add(p, stride);
    } else {
      cc.add(p, size);
    }
  };
  if (active.all) {
    for (int i = 0; i < lanes(); ++i) {
      move_element(cc, size, x86::ptr(target), x86::ptr(source), element);
      if (i + 1 == lanes()) break;
      step(source, from_stride);
      step(target, to_stride);
    }
    return;
  }
  const asmjit::Label loop = cc.newLabel();
  const asmjit::Label done = cc.newLabel();
  const x86::Gp left = cc.newInt64();
  cc.mov(left, active.count);
  cc.test(left, left);
  cc.jz(done);
  cc.bind(loop);
  move_element(cc, size, x86::ptr(target), x86::ptr(source), element);
  step(source, from_stride);
  step(target, to_stride);
  cc.dec(left);
  cc.jnz(loop);
  cc.bind(done);
}

Lanes VectorIsa::load_strided(DType type, const x86::Gp& at, const x86::Gp& stride,
                              const Active& active) {
  copy_elements(size_of(type), slot(0), x86::Gp(), x86::ptr(at), stride, active);
  return load(type, slot(0), Active{});
}

void VectorIsa::store_strided(DType type, const x86::Gp& at, const x86::Gp& stride,
                              const Lanes& value, const Active& active) {
  store(type, slot(0), value, Active{});
  copy_elements(size_of(type), x86::ptr(at), stride, slot(0), x86::Gp(), active);
}

void VectorIsa::store_streaming(DType, const x86::Mem& at, const Lanes& value) {
  for (std::size_t p = 0; p < value.parts(); ++p)
    cc.emit(Inst::kIdVmovntps, at.cloneAdjusted(p * register_bytes()), reg(value, p));
}

Lanes VectorIsa::load_splat(DType type, const x86::Mem& at) {
  Lanes result{.lane = lane_of(type), .width = width_of(lane_of(type))};
  if (size_of(type) >= 4) {
    result.part[0] = emit2(size_of(type) == 8 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, at);
  } else {
    const x86::Vec r = fresh();
    cc.emit(Inst::kIdVmovd, r.xmm(), load_small(cc, type, at));
    if (type == DType::F16) cc.emit(Inst::kIdVcvtph2ps, r.xmm(), r.xmm());
    result.part[0] = emit2(Inst::kIdVbroadcastss, r.xmm());
  }
  result.part[1] = result.part[0];
  return result;
}

void VectorIsa::store_first(DType type, const x86::Mem& at, const Lanes& value) {
  const x86::Vec r = reg(value, 0);
  if (size_of(type) == 8) {
    cc.emit(Inst::kIdVmovq, at.cloneResized(8), r.xmm());
  } else if (size_of(type) == 4) {
    cc.emit(Inst::kIdVmovd, at.cloneResized(4), r.xmm());
  } else {
    x86::Vec element = r;
    if (type == DType::F16) {
      element = fresh();
      cc.emit(Inst::kIdVcvtps2ph, element.xmm(), r.xmm(), Imm(0));
    }
    store_small(cc, type, at, element);
  }
}

}  // namespace spyre::kernels
