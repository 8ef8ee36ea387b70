// spyre/kernels/builder.h — op bodies call this to append micro-ops; it folds constants and repeats.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/kernels/micro_op.h"
#include "spyre/kernels/numerics.h"
#include "spyre/kernels/value_facts.h"

namespace spyre::kernels {

/// A result inside the program under construction.
struct Value {
  std::uint16_t index = 0;
  Lane lane{};
};

/// Appends to one MicroProgram. Equal instructions are merged (common subexpressions), constant ones
/// folded by the interpreter, so bodies may be written plainly. Confined to one thread.
///
/// Bodies are lane-generic where the maths is: `b.constant(x, 0.5)` takes the lane type of `x`.
class Builder {
 public:
  explicit Builder(MicroProgram& program, Numerics numerics = Numerics::Ieee)
      : program_(program), numerics_(numerics) {}

  Numerics numerics() const { return numerics_; }

  /// The type the body under construction computes in; set by apply().
  DType compute() const { return compute_; }
  void set_compute(DType t) { compute_ = t; }

  Value input(std::uint16_t kernel_value, Lane lane);
  /// Promises that storage of type `t` holds `v` exactly, whatever the kernel is given.
  void assume_stored(Value v, DType t);
  Value constant(Lane lane, double value);
  Value constant(Value like, double value) { return constant(like.lane, value); }
  Value bits(Lane lane, std::uint64_t pattern);

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value scale(Value a, Value exponent);
  Value sqrt(Value a);
  Value neg(Value a);
  Value abs(Value a);
  Value min_nan(Value a, Value b);
  Value max_nan(Value a, Value b);
  Value round_even(Value a);
  Value floor(Value a);
  Value ceil(Value a);
  Value trunc(Value a);
  Value int_div_trunc(Value a, Value b);
  Value int_rem(Value a, Value b);
  Value mul_hi_u32(Value a, Value b);

  Value bit_and(Value a, Value b);
  Value bit_or(Value a, Value b);
  Value bit_xor(Value a, Value b);
  Value bit_not(Value a);
  Value shl(Value a, Value count);
  Value shr_arith(Value a, Value count);
  Value shr_logical(Value a, Value count);

  Value eq(Value a, Value b);
  Value ne(Value a, Value b);
  Value lt(Value a, Value b);
  Value le(Value a, Value b);
  Value gt(Value a, Value b) { return lt(b, a); }
  Value ge(Value a, Value b) { return le(b, a); }
  Value is_nan(Value a) { return ne(a, a); }
  Value nonzero(Value a) { return ne(a, constant(a, 0)); }  // Mask; NaN counts as nonzero
  Value select(Value mask, Value if_true, Value if_false);
  Value mask_to_int(Value mask);

  Value convert(Value a, Lane to);  // numeric lanes; Mask -> 0 / 1
  Value bits_to_float(Value a);
  Value bits_to_int(Value a);
  /// The nearest number of DLFloat16 to a float32, halves away from zero; infinities and NaN stay.
  Value round_to_dlfloat16(Value a);
  /// Rounds or wraps a computed value to what storage of type `t` would hold, staying in its lane.
  Value round_to_storage(Value a, DType t);
  /// PyTorch's conversion of a value in any lane to storage type `t`: to Bool "is not zero", float to integer
  /// truncates, integers wrap, float64 to float16 by way of float32. The result has lane_of(t).
  Value convert_to(Value a, DType t);

  Value math1(std::uint16_t function, Value a);
  Value math2(std::uint16_t function, Value a, Value b);

  const MicroProgram& program() const { return program_; }

 private:
  Value append(MicroInstruction instruction);
  Value unary(Micro op, Value a);
  Value binary(Micro op, Value a, Value b);
  Value comparison(Micro op, Value a, Value b);
  bool is_constant(std::uint16_t index) const { return program_[index].op == Micro::Const; }
  bool is_mask(Value v, bool value) const;
  bool all_constant(const MicroInstruction& instruction) const;
  MicroInstruction folded(const MicroInstruction& instruction) const;
  Value round_to_card(Value a, DType t);
  Value find_or_push(const MicroInstruction& instruction);
  void grow_index();

  MicroProgram& program_;
  Numerics numerics_;
  DType compute_ = DType::F32;
  std::vector<ValueFacts> facts_;     // by instruction
  std::vector<std::uint16_t> index_;  // open addressing over program positions; 0xffff is free
  std::size_t indexed_ = 0;           // instructions already in index_
};

}  // namespace spyre::kernels
