// spyre/kernels/micro_op.h — the vocabulary that op bodies are written in, and the program they build.
//
// A micro-op is one exactly specified operation on one element. Each is either IEEE-exact (round to
// nearest even) or integer arithmetic modulo 2^n, so the scalar interpreter, the AVX2 emitter and the
// AVX-512 emitter produce the same bits by construction. Rules for NaN and signed zero are in the names.
// Where arithmetic makes or passes on a NaN, all engines give a NaN at the same place; its sign and payload are
// outside law 2 (ADR 0015). Moving, selecting, Neg and Abs keep them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spyre/base/dtype.h"

namespace spyre::kernels {

/// What a register lane holds. Small integers and bool live in I32 (sign- or zero-extended, wrapped
/// after each op); float16 and bfloat16 live in F32 (rounded after each op).
enum class Lane : std::uint8_t { F32, F64, I32, I64, Mask };

/// The lane type that computes values of a storage type.
constexpr Lane lane_of(DType t) {
  switch (t) {
    case DType::F64: return Lane::F64;
    case DType::I64: return Lane::I64;
    case DType::F16:
    case DType::BF16:
    case DType::F32: return Lane::F32;
    default: return Lane::I32;
  }
}

enum class Micro : std::uint8_t {
  // Sources.
  Const,  // imm: the bits of the value in its lane type
  Input,  // imm: index of the kernel value (loaded element, parameter or earlier result)
  // Arithmetic, by lane type. Integers wrap.
  Add,
  Sub,
  Mul,
  Div,
  Sqrt,  // floats only, IEEE
  Fma,   // floats only: a * b + c, one rounding
  Scale,  // F32: a * 2^b, one rounding; b is whole, |b| <= 252, and 1/2 <= |a| <= 2 (or either is NaN)
  Neg,
  Abs,  // floats: sign bit only (NaN keeps its payload)
  MinNan,
  MaxNan,  // floats: NaN if either is NaN, and -0 < +0; integers: plain
  RoundEven,
  Floor,
  Ceil,
  Trunc,  // floats only
  IntDivTrunc,
  IntRem,    // integers: C semantics; division by zero raises a device fault, MIN / -1 wraps
  MulHiU32,  // I32: high half of the unsigned product
  // Bits, on integers (and on Mask for And, Or, Xor, Not).
  And,
  Or,
  Xor,
  Not,
  Shl,
  ShrArith,
  ShrLogical,  // a by b; a count outside [0, width) gives 0 (ShrArith: the sign)
  // Comparison: result is Mask. Floats: every comparison with NaN is false, except Ne, which is true.
  Eq,
  Ne,
  Lt,
  Le,
  Select,     // a ? b : c, a is a Mask
  MaskToInt,  // Mask -> I32 0 / 1
  // Conversion. Float to integer truncates; out of range or NaN gives the x86 "integer indefinite" (MIN).
  ToF32,
  ToF64,
  ToI32,
  ToI64,  // from any numeric lane; I64 -> I32 keeps the low half
  BitsToFloat,
  BitsToInt,  // I32 <-> F32, I64 <-> F64, same bits
  RoundF16,
  RoundBF16,          // F32 -> nearest representable (ties to even), as F32; NaN stays NaN
  RoundBF16ShortNan,  // the same in integers alone: right if no NaN has a bit set in its lower half
  WrapI8,
  WrapU8,
  WrapI16,  // I32 -> that storage type and back
  // A library function on one or two lanes (SLEEF, the deterministic "finz" entry points: one result on
  // every instruction set). imm: MathFunction.
  Math1,
  Math2,
};

inline constexpr std::uint8_t kMicroCount = static_cast<std::uint8_t>(Micro::Math2) + 1;
std::string_view name_of(Micro op);
std::string_view name_of(Lane lane);
/// How many of a, b, c the instruction reads.
std::uint8_t operand_count(Micro op);

/// One instruction in SSA form. Its result is numbered by its position in the program.
struct MicroInstruction {
  Micro op{};
  Lane lane{};  // of the result
  std::uint16_t a = 0, b = 0, c = 0;
  std::uint64_t imm = 0;
  friend bool operator==(const MicroInstruction&, const MicroInstruction&) = default;
};

using MicroProgram = std::vector<MicroInstruction>;

/// One line per instruction, for listings.
std::string print(const MicroProgram& program);

}  // namespace spyre::kernels
