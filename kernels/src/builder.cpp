// spyre/kernels/builder.cpp — appends micro-ops; folds constants with the interpreter, merges repeats.
#include "spyre/kernels/builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/kernels/interpreter.h"

namespace spyre::kernels {
namespace {

constexpr std::uint16_t kFree = 0xffff;

std::size_t hash_of(const MicroInstruction& in) {
  std::uint64_t h = in.imm;
  h = h * 0x9e3779b97f4a7c15U +
      (std::uint64_t{in.a} | std::uint64_t{in.b} << 16 | std::uint64_t{in.c} << 32);
  h ^= h >> 29;
  h = h * 0xbf58476d1ce4e5b9U +
      (static_cast<std::uint64_t>(in.op) << 8 | static_cast<std::uint64_t>(in.lane));
  return static_cast<std::size_t>(h ^ (h >> 32));
}

std::uint64_t bits_of(Lane lane, double value) {
  switch (lane) {
    case Lane::F32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Lane::F64: return std::bit_cast<std::uint64_t>(value);
    case Lane::I32: return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    case Lane::I64: return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    case Lane::Mask: return value != 0 ? 1 : 0;
  }
  return 0;
}

bool is_float_lane(Lane lane) { return lane == Lane::F32 || lane == Lane::F64; }

void check(bool holds, Micro op, std::string_view what) {
  if (!holds) throw InternalError(str("micro-op ", name_of(op), ": ", what));
}

bool divides(Micro op) { return op == Micro::IntDivTrunc || op == Micro::IntRem; }

}  // namespace

bool Builder::all_constant(const MicroInstruction& in) const {
  const std::uint8_t n = operand_count(in.op);
  if (n == 0 || !is_constant(in.a)) return false;
  if (n >= 2 && !is_constant(in.b)) return false;
  if (n >= 3 && !is_constant(in.c)) return false;
  return !(divides(in.op) && program_[in.b].imm == 0);  // the fault belongs to the launch
}

MicroInstruction Builder::folded(const MicroInstruction& in) const {
  const std::uint64_t bits = evaluate_one(in, program_[in.a].lane, program_[in.a].imm,
                                          program_[in.b].imm, program_[in.c].imm);
  return {.op = Micro::Const, .lane = in.lane, .imm = bits};
}

void Builder::grow_index() {
  const std::size_t size = std::max<std::size_t>(64, std::bit_ceil(program_.size() * 4 + 4));
  if (index_.size() < size) {
    index_.assign(size, kFree);
    indexed_ = 0;
  }
  for (; indexed_ < program_.size(); ++indexed_) {
    std::size_t slot = hash_of(program_[indexed_]) & (index_.size() - 1);
    while (index_[slot] != kFree) slot = (slot + 1) & (index_.size() - 1);
    index_[slot] = static_cast<std::uint16_t>(indexed_);
  }
}

Value Builder::find_or_push(const MicroInstruction& in) {
  if (index_.size() < program_.size() * 2 + 2 || indexed_ != program_.size()) grow_index();
  std::size_t slot = hash_of(in) & (index_.size() - 1);
  for (; index_[slot] != kFree; slot = (slot + 1) & (index_.size() - 1))
    if (program_[index_[slot]] == in) return {index_[slot], in.lane};
  ensure(program_.size() < kFree, "a kernel has fewer than 65535 micro-ops");
  const auto position = static_cast<std::uint16_t>(program_.size());
  program_.push_back(in);
  while (facts_.size() < program_.size())
    facts_.push_back(facts_of(program_[facts_.size()], program_, facts_));
  index_[slot] = position;
  ++indexed_;
  return {position, in.lane};
}

bool Builder::is_mask(Value v, bool value) const {
  const MicroInstruction& in = program_[v.index];
  return in.op == Micro::Const && in.lane == Lane::Mask && (in.imm != 0) == value;
}

Value Builder::append(MicroInstruction in) {
  return find_or_push(all_constant(in) ? folded(in) : in);
}

Value Builder::unary(Micro op, Value a) { return append({.op = op, .lane = a.lane, .a = a.index}); }

Value Builder::binary(Micro op, Value a, Value b) {
  check(a.lane == b.lane, op, "operands of different lanes");
  return append({.op = op, .lane = a.lane, .a = a.index, .b = b.index});
}

Value Builder::comparison(Micro op, Value a, Value b) {
  check(a.lane == b.lane && a.lane != Lane::Mask, op, "operands must be numbers of one lane");
  return append({.op = op, .lane = Lane::Mask, .a = a.index, .b = b.index});
}

Value Builder::input(std::uint16_t kernel_value, Lane lane) {
  return append({.op = Micro::Input, .lane = lane, .imm = kernel_value});
}
void Builder::assume_stored(Value v, DType t) {
  ensure(v.lane == lane_of(t), "a stored value is in its own lane");
  ValueFacts& facts = facts_[v.index];
  const ValueFacts stored = facts_of(t);
  facts = {.fits_f16 = facts.fits_f16 || stored.fits_f16,
           .fits_bf16 = facts.fits_bf16 || stored.fits_bf16,
           .short_nan = facts.short_nan || stored.short_nan};
}
Value Builder::constant(Lane lane, double value) { return bits(lane, bits_of(lane, value)); }
Value Builder::bits(Lane lane, std::uint64_t pattern) {
  return append({.op = Micro::Const, .lane = lane, .imm = pattern});
}

Value Builder::add(Value a, Value b) { return binary(Micro::Add, a, b); }
Value Builder::sub(Value a, Value b) { return binary(Micro::Sub, a, b); }
Value Builder::mul(Value a, Value b) { return binary(Micro::Mul, a, b); }
Value Builder::div(Value a, Value b) {
  check(is_float_lane(a.lane), Micro::Div, "floats only");
  return binary(Micro::Div, a, b);
}
Value Builder::fma(Value a, Value b, Value c) {
  check(is_float_lane(a.lane) && a.lane == b.lane && b.lane == c.lane, Micro::Fma,
        "floats of one lane only");
  return append({.op = Micro::Fma, .lane = a.lane, .a = a.index, .b = b.index, .c = c.index});
}
Value Builder::scale(Value a, Value exponent) {
  check(a.lane == Lane::F32, Micro::Scale, "float32 only");
  return binary(Micro::Scale, a, exponent);
}
Value Builder::sqrt(Value a) { return unary(Micro::Sqrt, a); }
Value Builder::neg(Value a) { return unary(Micro::Neg, a); }
Value Builder::abs(Value a) { return unary(Micro::Abs, a); }
Value Builder::min_nan(Value a, Value b) { return binary(Micro::MinNan, a, b); }
Value Builder::max_nan(Value a, Value b) { return binary(Micro::MaxNan, a, b); }
// Integers are their own rounding, so that bodies need not ask.
Value Builder::round_even(Value a) {
  return is_float_lane(a.lane) ? unary(Micro::RoundEven, a) : a;
}
Value Builder::floor(Value a) { return is_float_lane(a.lane) ? unary(Micro::Floor, a) : a; }
Value Builder::ceil(Value a) { return is_float_lane(a.lane) ? unary(Micro::Ceil, a) : a; }
Value Builder::trunc(Value a) { return is_float_lane(a.lane) ? unary(Micro::Trunc, a) : a; }
Value Builder::int_div_trunc(Value a, Value b) { return binary(Micro::IntDivTrunc, a, b); }
Value Builder::int_rem(Value a, Value b) { return binary(Micro::IntRem, a, b); }
Value Builder::mul_hi_u32(Value a, Value b) { return binary(Micro::MulHiU32, a, b); }

// Bodies serve every lane, so tests that only floats need come to constants on integers.
Value Builder::bit_and(Value a, Value b) {
  if (is_mask(a, true)) return b;
  if (is_mask(b, true)) return a;
  return binary(Micro::And, a, b);
}
Value Builder::bit_or(Value a, Value b) {
  if (is_mask(a, false)) return b;
  if (is_mask(b, false)) return a;
  return binary(Micro::Or, a, b);
}
Value Builder::bit_xor(Value a, Value b) { return binary(Micro::Xor, a, b); }
Value Builder::bit_not(Value a) { return unary(Micro::Not, a); }
Value Builder::shl(Value a, Value count) { return binary(Micro::Shl, a, count); }
Value Builder::shr_arith(Value a, Value count) { return binary(Micro::ShrArith, a, count); }
Value Builder::shr_logical(Value a, Value count) { return binary(Micro::ShrLogical, a, count); }

Value Builder::eq(Value a, Value b) { return comparison(Micro::Eq, a, b); }
Value Builder::ne(Value a, Value b) {
  if (a.index == b.index && !is_float_lane(a.lane)) return bits(Lane::Mask, 0);
  // "Is not zero" of a bool, converted or not, is the mask it came from.
  if (is_constant(b.index) && program_[b.index].imm == 0) {
    const MicroInstruction* in = &program_[a.index];
    if (in->op >= Micro::ToF32 && in->op <= Micro::ToI64) in = &program_[in->a];
    if (in->op == Micro::MaskToInt) return {in->a, Lane::Mask};
  }
  return comparison(Micro::Ne, a, b);
}
Value Builder::lt(Value a, Value b) { return comparison(Micro::Lt, a, b); }
Value Builder::le(Value a, Value b) { return comparison(Micro::Le, a, b); }

Value Builder::select(Value mask, Value if_true, Value if_false) {
  check(mask.lane == Lane::Mask && if_true.lane == if_false.lane, Micro::Select,
        "a mask and two values of one lane");
  if (is_constant(mask.index)) return program_[mask.index].imm ? if_true : if_false;
  if (if_true.index == if_false.index) return if_true;
  if (if_true.lane == Lane::Mask)  // keeps Select to registers of numbers
    return bit_or(bit_and(mask, if_true), bit_and(bit_not(mask), if_false));
  return append({.op = Micro::Select,
                 .lane = if_true.lane,
                 .a = mask.index,
                 .b = if_true.index,
                 .c = if_false.index});
}

Value Builder::mask_to_int(Value mask) {
  check(mask.lane == Lane::Mask, Micro::MaskToInt, "masks only");
  return append({.op = Micro::MaskToInt, .lane = Lane::I32, .a = mask.index});
}

Value Builder::convert(Value a, Lane to) {
  if (a.lane == to) return a;
  if (to == Lane::Mask) return nonzero(a);
  if (a.lane == Lane::Mask) return convert(mask_to_int(a), to);
  constexpr std::array kOps{Micro::ToF32, Micro::ToF64, Micro::ToI32, Micro::ToI64};
  return append({.op = kOps[static_cast<std::size_t>(to)], .lane = to, .a = a.index});
}

Value Builder::bits_to_float(Value a) {
  check(a.lane == Lane::I32 || a.lane == Lane::I64, Micro::BitsToFloat, "integers only");
  return append({.op = Micro::BitsToFloat,
                 .lane = a.lane == Lane::I32 ? Lane::F32 : Lane::F64,
                 .a = a.index});
}
Value Builder::bits_to_int(Value a) {
  check(is_float_lane(a.lane), Micro::BitsToInt, "floats only");
  return append(
      {.op = Micro::BitsToInt, .lane = a.lane == Lane::F32 ? Lane::I32 : Lane::I64, .a = a.index});
}

Value Builder::round_to_storage(Value a, DType t) {
  ensure(a.lane == lane_of(t), "a value is rounded to storage in its own lane");
  if (is_card(numerics_)) a = round_to_card(a, t);
  switch (t) {
    case DType::Bool: return mask_to_int(nonzero(a));
    case DType::U8: return unary(Micro::WrapU8, a);
    case DType::I8: return unary(Micro::WrapI8, a);
    case DType::I16: return unary(Micro::WrapI16, a);
    case DType::F16: return facts_[a.index].fits_f16 ? a : unary(Micro::RoundF16, a);
    case DType::BF16:
      if (facts_[a.index].fits_bf16) return a;
      return unary(facts_[a.index].short_nan ? Micro::RoundBF16ShortNan : Micro::RoundBF16, a);
    default: return a;
  }
}

// As base/dlfloat16.h, but that infinities and NaN are kept: what is left of the value after the
// conversion and back.
Value Builder::round_to_dlfloat16(Value a) {
  constexpr std::uint32_t kSign = 0x8000'0000, kHalf = 0x2000, kFraction = 0x3fff;
  constexpr std::uint32_t kZero = 96U << 23, kLargest = 0x4fff'9fff, kInfinity = 0x7f80'0000;
  const auto pattern = [&](std::uint32_t word) { return bits(Lane::I32, word); };
  const Value word = bits_to_int(a);
  const Value size = bit_and(word, pattern(~kSign));
  Value rounded = bit_and(add(size, pattern(kHalf)), pattern(~kFraction));
  rounded = select(le(rounded, pattern(kZero)), pattern(0), rounded);
  rounded = select(le(size, pattern(kLargest)), rounded, pattern(kInfinity));
  rounded = select(le(size, pattern(kInfinity)), rounded, size);
  return bits_to_float(bit_or(rounded, bit_and(word, pattern(kSign))));
}

Value Builder::round_to_card(Value a, DType t) {
  if (t == DType::I64) return shr_arith(shl(a, constant(a, 32)), constant(a, 32));
  if (!is_reduced_float(t)) return a;
  const Value rounded = round_to_dlfloat16(a);
  if (t != DType::F16) return rounded;
  // 65536 would be an infinity, where CPU has none.
  const Value most = constant(a, 65472.0);
  const Value rises = bit_and(lt(abs(a), constant(a, 65520.0)), lt(most, abs(rounded)));
  const Value held = select(lt(a, constant(a, 0)), neg(most), most);
  return select(rises, held, rounded);
}

Value Builder::convert_to(Value a, DType t) {
  if (t == DType::Bool) return mask_to_int(a.lane == Lane::Mask ? a : nonzero(a));
  return round_to_storage(convert(a, lane_of(t)), t);
}

Value Builder::math1(std::uint16_t function, Value a) {
  check(is_float_lane(a.lane), Micro::Math1, "floats only");
  return append({.op = Micro::Math1, .lane = a.lane, .a = a.index, .imm = function});
}
Value Builder::math2(std::uint16_t function, Value a, Value b) {
  check(is_float_lane(a.lane) && a.lane == b.lane, Micro::Math2, "floats of one lane only");
  return append({.op = Micro::Math2, .lane = a.lane, .a = a.index, .b = b.index, .imm = function});
}

}  // namespace spyre::kernels
