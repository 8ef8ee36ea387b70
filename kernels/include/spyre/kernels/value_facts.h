// spyre/kernels/value_facts.h — what a value can be, as far as rounding it needs to know.
#pragma once
#include <vector>

#include "spyre/kernels/micro_op.h"

namespace spyre::kernels {

/// Of an F32 value, whatever the inputs of its program are; nothing of values in other lanes. A value.
struct ValueFacts {
  bool fits_f16 = false, fits_bf16 = false;  // the type holds it exactly
  /// Where it is NaN, the lower half of its bits is zero. So are all that arithmetic makes of such values and of numbers:
  /// an operand's NaN made quiet, or the processor's own.
  bool short_nan = false;
};

/// The same of a value that storage of type `t` holds.
constexpr ValueFacts facts_of(DType t) {
  return {
      .fits_f16 = t == DType::F16, .fits_bf16 = t == DType::BF16, .short_nan = t == DType::BF16};
}
/// The same of what `in` makes; `facts` has an entry for each instruction of `program`, those that `in` reads first.
ValueFacts facts_of(const MicroInstruction& in, const MicroProgram& program,
                    const std::vector<ValueFacts>& facts);

}  // namespace spyre::kernels
