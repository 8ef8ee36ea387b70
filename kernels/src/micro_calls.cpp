// spyre/kernels/micro_calls.cpp — micro-ops that leave vector code: integer division and library functions.
#include "micro_emitter.h"
#include "spyre/kernels/math_function.h"

namespace spyre::kernels {

using asmjit::Imm;

/// A quotient of 32-bit integers is exact in float64 once truncated; MIN / -1 overflows to MIN, which is the
/// wrapped quotient.
Lanes MicroEmitter::divide_i32(const MicroInstruction& in) {
  const Lanes& a = value(in.a);
  const Lanes& b = value(in.b);
  const Lanes zero = VectorIsa::constant(Lane::I32, 0);
  isa_.or_any(fault_, isa_.compare(Micro::Eq, isa_.in_registers(b), zero), *active_);
  const Lanes ratio =
      isa_.each_part(Inst::kIdVdivpd, Lane::F64, convert(a, Lane::F64), convert(b, Lane::F64));
  Lanes quotient = convert(ratio, Lane::I32);
  if (in.op == Micro::IntDivTrunc) return quotient;
  const Lanes product = isa_.each_part(Inst::kIdVpmulld, Lane::I32, quotient, b);
  return isa_.each_part(Inst::kIdVpsubd, Lane::I32, a, product);
}

Lanes MicroEmitter::divide_i64(const MicroInstruction& in) {
  isa_.store_raw(isa_.slot(0), value(in.a));
  isa_.store_raw(isa_.slot(1), value(in.b));
  const x86::Gp at_a = cc_.newIntPtr();
  const x86::Gp at_b = cc_.newIntPtr();
  const x86::Gp left = cc_.newInt64();
  cc_.lea(at_a, isa_.slot(0).cloneResized(0));
  cc_.lea(at_b, isa_.slot(1).cloneResized(0));
  if (active_->all) {
    cc_.mov(left, isa_.lanes());
  } else {
    cc_.mov(left, active_->count);
  }
  const asmjit::Label loop = cc_.newLabel();
  const asmjit::Label done = cc_.newLabel();
  cc_.test(left, left);
  cc_.jz(done);
  cc_.bind(loop);
  divide_i64_lane(in, at_a, at_b);
  cc_.add(at_a, 8);
  cc_.add(at_b, 8);
  cc_.dec(left);
  cc_.jnz(loop);
  cc_.bind(done);
  return isa_.load_raw(Lane::I64, isa_.slot(0));
}

void MicroEmitter::divide_i64_lane(const MicroInstruction& in, const x86::Gp& at_a,
                                   const x86::Gp& at_b) {
  const bool quotient = in.op == Micro::IntDivTrunc;
  const asmjit::Label divide = cc_.newLabel();
  const asmjit::Label next = cc_.newLabel();
  const x86::Gp low = cc_.newInt64();
  const x86::Gp high = cc_.newInt64();
  const x86::Gp divisor = cc_.newInt64();
  const x86::Gp shifted_divisor = cc_.newInt64();
  cc_.mov(low, x86::qword_ptr(at_a));
  cc_.mov(divisor, x86::qword_ptr(at_b));
  // 0 and -1 do not reach the instruction: it would trap.
  cc_.lea(shifted_divisor, x86::ptr(divisor, 1));
  cc_.cmp(shifted_divisor, 1);
  cc_.ja(divide);
  const asmjit::Label minus_one = cc_.newLabel();
  cc_.jb(minus_one);
  cc_.mov(fault_.cloneResized(4), 1);
  cc_.jmp(next);
  cc_.bind(minus_one);
  if (quotient) {
    cc_.neg(low);
  } else {
    cc_.mov(low, 0);
  }
  cc_.mov(x86::qword_ptr(at_a), low);
  cc_.jmp(next);
  cc_.bind(divide);
  cc_.mov(high, low);
  cc_.sar(high, 63);
  cc_.idiv(high, low, divisor);
  cc_.mov(x86::qword_ptr(at_a), quotient ? low : high);
  cc_.bind(next);
}

Lanes MicroEmitter::math(const MicroInstruction& in) {
  const auto function = static_cast<MathFunction>(in.imm);
  // The version for this register width: a wider one would take 8 lanes one by one.
  const MathWidth width = isa_.lanes() == 16 ? MathWidth::Avx512 : MathWidth::Avx2;
  isa_.store_raw(isa_.slot(0), value(in.a));
  if (in.op == Micro::Math2) isa_.store_raw(isa_.slot(1), value(in.b));
  const x86::Gp first = cc_.newIntPtr();
  const x86::Gp second = cc_.newIntPtr();
  const x86::Gp target = cc_.newUInt64();
  cc_.lea(first, isa_.slot(0).cloneResized(0));
  if (in.op == Micro::Math2) {
    cc_.lea(second, isa_.slot(1).cloneResized(0));
  } else {
    cc_.mov(second, 0);
  }
  cc_.mov(target, Imm(reinterpret_cast<std::uint64_t>(lanes_function(function, in.lane, width))));
  asmjit::InvokeNode* call = nullptr;
  cc_.invoke(&call, target,
             asmjit::FuncSignatureT<void, const void*, const void*, void*, std::size_t>());
  call->setArg(0, first);
  call->setArg(1, second);
  call->setArg(2, first);
  call->setArg(3, Imm(isa_.lanes()));
  return isa_.load_raw(in.lane, isa_.slot(0));
}

}  // namespace spyre::kernels
