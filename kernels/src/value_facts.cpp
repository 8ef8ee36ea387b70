// spyre/kernels/value_facts.cpp — facts of constants, and what each micro-op does to those of its operands.
#include "spyre/kernels/value_facts.h"

#include <bit>

#include "spyre/base/float16.h"

namespace spyre::kernels {
namespace {

constexpr std::uint32_t kLowerHalf = 0xffff;

ValueFacts both(const ValueFacts& a, const ValueFacts& b) {
  return {.fits_f16 = a.fits_f16 && b.fits_f16,
          .fits_bf16 = a.fits_bf16 && b.fits_bf16,
          .short_nan = a.short_nan && b.short_nan};
}

ValueFacts of_constant(std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  const auto value = std::bit_cast<float>(word);
  const bool is_nan = value != value;
  return {.fits_f16 = !is_nan && float16_value(float16_bits(value)) == value,
          .fits_bf16 = (word & kLowerHalf) == 0,
          .short_nan = !is_nan || (word & kLowerHalf) == 0};
}

/// A choice that takes a NaN's place: `b` where `c` is not equal to itself.
bool replaces_nan(const MicroInstruction& select, const MicroProgram& program) {
  const MicroInstruction& mask = program[select.a];
  return mask.op == Micro::Ne && mask.a == select.c && mask.b == select.c;
}

}  // namespace

ValueFacts facts_of(const MicroInstruction& in, const MicroProgram& program,
                    const std::vector<ValueFacts>& facts) {
  if (in.lane != Lane::F32) return {};
  switch (in.op) {
    case Micro::Const: return of_constant(in.imm);
    case Micro::Neg:
    case Micro::Abs:
    case Micro::RoundEven:  // whole numbers are closer to each other than to others of their size
    case Micro::Floor:
    case Micro::Ceil:
    case Micro::Trunc: return facts[in.a];
    case Micro::MinNan:
    case Micro::MaxNan: return both(facts[in.a], facts[in.b]);
    case Micro::Select: {
      ValueFacts result = both(facts[in.b], facts[in.c]);
      if (replaces_nan(in, program)) result.short_nan = facts[in.b].short_nan;
      return result;
    }
    case Micro::Sqrt: return {.short_nan = facts[in.a].short_nan};
    case Micro::Add:
    case Micro::Sub:
    case Micro::Mul:
    case Micro::Div:
    case Micro::Scale: return {.short_nan = facts[in.a].short_nan && facts[in.b].short_nan};
    case Micro::Fma:
      return {.short_nan = facts[in.a].short_nan && facts[in.b].short_nan && facts[in.c].short_nan};
    case Micro::ToF32: return {.short_nan = program[in.a].lane != Lane::F64};
    case Micro::RoundF16: return {.fits_f16 = true, .short_nan = facts[in.a].short_nan};
    case Micro::RoundBF16:
    case Micro::RoundBF16ShortNan: return {.fits_bf16 = true, .short_nan = true};
    default: return {};
  }
}

}  // namespace spyre::kernels
