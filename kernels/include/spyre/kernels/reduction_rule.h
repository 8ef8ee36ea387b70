// spyre/kernels/reduction_rule.h — identity, accumulate, combine and finish of each reduction, as micro-ops.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/kernels/builder.h"
#include "spyre/kernels/op.h"

namespace spyre::kernels {

/// One component of a reduction's running state. Most have one; the arg-reductions have a value and an index.
struct StateRule {
  Lane lane{};
  std::uint64_t identity = 0;
};

std::vector<StateRule> state_rules(Reduction r, DType compute);

/// The state of a sum of float16 or bfloat16 is rounded to DLFloat16 after each addition.
constexpr bool adds_on_card(Reduction r, DType compute, Numerics numerics) {
  return r == Reduction::Sum && numerics == Numerics::Quirks && is_reduced_float(compute);
}

/// Elements of a lane that a sum of float32 along a row adds in float32 before their total joins the float64 state: a
/// conversion for each run instead of each element (ADR 0017).
constexpr int kRun = 4;
constexpr bool adds_in_runs(Reduction r, DType compute, Numerics numerics) {
  return r == Reduction::Sum && lane_of(compute) == Lane::F32 &&
         !adds_on_card(r, compute, numerics);
}
/// The total of a run: starts where adding changes nothing, not even the sign of a zero.
constexpr StateRule kRunTotal{Lane::F32, 0x80000000U};

/// The state after one more element: `x` in the lane of the compute type, at I64 `position` along the reduced dimension.
std::vector<Value> accumulate(Builder& b, Reduction r, DType compute, Value x, Value position,
                              std::span<const Value> state);

/// The state of the elements of both sides together.
std::vector<Value> combine(Builder& b, Reduction r, DType compute, std::span<const Value> left,
                           std::span<const Value> right);

/// The outcome, in storage type `result`.
Value finish(Builder& b, Reduction r, std::span<const Value> state, DType result);

constexpr bool is_arg(Reduction r) { return r == Reduction::ArgMax || r == Reduction::ArgMin; }

}  // namespace spyre::kernels
