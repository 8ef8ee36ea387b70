// spyre/kernels/reduction_rule.cpp — the reductions in the vocabulary of micro-ops.
#include "spyre/kernels/reduction_rule.h"

#include <bit>
#include <limits>

namespace spyre::kernels {
namespace {

std::uint64_t number(Lane lane, std::int64_t value) {
  switch (lane) {
    case Lane::F32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Lane::F64: return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    case Lane::I64: return static_cast<std::uint64_t>(value);
    default: return static_cast<std::uint32_t>(value);
  }
}

/// The value below (or above) every other of the lane type.
std::uint64_t extreme(Lane lane, bool lowest) {
  switch (lane) {
    case Lane::F32: return lowest ? 0xff800000U : 0x7f800000U;
    case Lane::F64: return lowest ? 0xfff0000000000000U : 0x7ff0000000000000U;
    case Lane::I64: return std::uint64_t{1} << 63 ^ (lowest ? 0 : ~std::uint64_t{0});
    default: return lowest ? 0x80000000U : 0x7fffffffU;
  }
}

bool is_float_lane(Lane lane) { return lane == Lane::F32 || lane == Lane::F64; }

/// True where x must replace y: further out, or the first NaN.
Value beats(Builder& b, Reduction r, Value x, Value y) {
  const Value further = r == Reduction::ArgMax ? b.gt(x, y) : b.lt(x, y);
  if (!is_float_lane(x.lane)) return further;
  return b.bit_or(further, b.bit_and(b.is_nan(x), b.bit_not(b.is_nan(y))));
}

Value ties(Builder& b, Value x, Value y) {
  if (!is_float_lane(x.lane)) return b.eq(x, y);
  return b.bit_or(b.eq(x, y), b.bit_and(b.is_nan(x), b.is_nan(y)));
}

/// An index below zero marks a state that has seen nothing.
Value is_empty(Builder& b, Value index) { return b.lt(index, b.constant(index, 0)); }

Value sum(Builder& b, DType compute, Value x, Value y) {
  const Value exact = b.add(x, y);
  if (!adds_on_card(Reduction::Sum, compute, b.numerics())) return exact;
  return b.convert(b.round_to_dlfloat16(b.convert(exact, Lane::F32)), Lane::F64);
}

}  // namespace

std::vector<StateRule> state_rules(Reduction r, DType compute) {
  const Lane wide = is_float(compute) ? Lane::F64 : Lane::I64;
  const Lane own = lane_of(compute);
  switch (r) {
    case Reduction::Sum: return {{wide, number(wide, 0)}};
    case Reduction::Prod: return {{wide, number(wide, 1)}};
    case Reduction::Max: return {{own, extreme(own, true)}};
    case Reduction::Min: return {{own, extreme(own, false)}};
    case Reduction::Any: return {{Lane::I32, 0}};
    case Reduction::All: return {{Lane::I32, 1}};
    default:
      return {{own, extreme(own, r == Reduction::ArgMax)}, {Lane::I64, number(Lane::I64, -1)}};
  }
}

std::vector<Value> accumulate(Builder& b, Reduction r, DType compute, Value x, Value position,
                              std::span<const Value> state) {
  switch (r) {
    case Reduction::Sum: return {sum(b, compute, state[0], b.convert(x, state[0].lane))};
    case Reduction::Prod: return {b.mul(state[0], b.convert(x, state[0].lane))};
    case Reduction::Max: return {b.max_nan(state[0], x)};
    case Reduction::Min: return {b.min_nan(state[0], x)};
    case Reduction::Any: return {b.bit_or(state[0], b.mask_to_int(b.nonzero(x)))};
    case Reduction::All: return {b.bit_and(state[0], b.mask_to_int(b.nonzero(x)))};
    default: break;
  }
  const Value take = b.bit_or(is_empty(b, state[1]), beats(b, r, x, state[0]));
  return {b.select(take, x, state[0]), b.select(take, position, state[1])};
}

std::vector<Value> combine(Builder& b, Reduction r, DType compute, std::span<const Value> left,
                           std::span<const Value> right) {
  switch (r) {
    case Reduction::Sum: return {sum(b, compute, left[0], right[0])};
    case Reduction::Prod: return {b.mul(left[0], right[0])};
    case Reduction::Max: return {b.max_nan(left[0], right[0])};
    case Reduction::Min: return {b.min_nan(left[0], right[0])};
    case Reduction::Any: return {b.bit_or(left[0], right[0])};
    case Reduction::All: return {b.bit_and(left[0], right[0])};
    default: break;
  }
  const Value earlier = b.bit_and(ties(b, right[0], left[0]), b.lt(right[1], left[1]));
  const Value better = b.bit_or(beats(b, r, right[0], left[0]), earlier);
  const Value take =
      b.bit_and(b.bit_not(is_empty(b, right[1])), b.bit_or(is_empty(b, left[1]), better));
  return {b.select(take, right[0], left[0]), b.select(take, right[1], left[1])};
}

Value finish(Builder& b, Reduction r, std::span<const Value> state, DType result) {
  return b.convert_to(is_arg(r) ? state[1] : state[0], result);
}

}  // namespace spyre::kernels
