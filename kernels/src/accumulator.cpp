// spyre/kernels/accumulator.cpp — the reductions of op.h, one element at a time.
#include "accumulator.h"

#include <bit>
#include <cmath>
#include <limits>

#include "spyre/base/dlfloat16.h"
#include "spyre/kernels/reduction_rule.h"

namespace spyre::kernels {
namespace {

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

bool is_maximum(Reduction r) { return r == Reduction::Max || r == Reduction::ArgMax; }

/// Max and Min: NaN wins, and -0 is below +0.
double extreme(bool maximum, double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) == maximum ? b : a;
  return (a < b) == maximum ? b : a;
}

/// What DLFloat16 keeps, but that infinities stay.
double on_card(double sum) {
  const auto value = static_cast<float>(sum);
  if (!std::isfinite(value)) return double{value};
  const float kept = dlfloat16_value(dlfloat16_bits(value));
  return std::isnan(kept) ? std::copysign(std::numeric_limits<double>::infinity(), sum)
                          : double{kept};
}

}  // namespace

Accumulator::Accumulator(Reduction reduction, DType compute, Numerics numerics)
    : reduction_(reduction), compute_(compute), numerics_(numerics) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Any: break;
    case Reduction::Prod:
    case Reduction::All: real_ = 1, whole_ = 1; break;
    case Reduction::Max:
    case Reduction::ArgMax:
      real_ = -kInfinity, whole_ = std::numeric_limits<std::int64_t>::min();
      break;
    case Reduction::Min:
    case Reduction::ArgMin:
      real_ = kInfinity, whole_ = std::numeric_limits<std::int64_t>::max();
      break;
  }
}

void Accumulator::take(double real, std::int64_t whole) {
  switch (reduction_) {
    case Reduction::Sum:
      real_ += real, whole_ = wrapping_add(whole_, whole);
      if (adds_on_card(reduction_, compute_, numerics_)) real_ = on_card(real_);
      break;
    case Reduction::Prod: real_ *= real, whole_ = wrapping_mul(whole_, whole); break;
    case Reduction::Max:
      real_ = extreme(true, real_, real), whole_ = std::max(whole_, whole);
      break;
    case Reduction::Min:
      real_ = extreme(false, real_, real), whole_ = std::min(whole_, whole);
      break;
    case Reduction::Any: whole_ = whole_ | whole; break;
    case Reduction::All: whole_ = whole_ & whole; break;
    default: break;
  }
}

void Accumulator::add(std::uint64_t cell, std::int64_t position) {
  Accumulator one(reduction_, compute_, numerics_);
  one.position_ = position;
  switch (lane_of(compute_)) {
    case Lane::F32:
      one.real_ = double{std::bit_cast<float>(static_cast<std::uint32_t>(cell))};
      break;
    case Lane::F64: one.real_ = std::bit_cast<double>(cell); break;
    case Lane::I64: one.whole_ = static_cast<std::int64_t>(cell); break;
    default: one.whole_ = static_cast<std::int32_t>(cell); break;
  }
  if (reduction_ == Reduction::Any || reduction_ == Reduction::All)
    one.whole_ = is_float(compute_) ? one.real_ != 0 : one.whole_ != 0;
  merge(one);
}

/// Whether `other` is further out than what was seen so far, or as far and earlier.
bool Accumulator::replaces(const Accumulator& other) const {
  if (position_ < 0) return true;
  const bool earlier = other.position_ < position_;
  if (!is_float(compute_)) {
    if (whole_ == other.whole_) return earlier;
    return (other.whole_ > whole_) == is_maximum(reduction_);
  }
  const bool nan = std::isnan(real_), other_nan = std::isnan(other.real_);
  if (nan || other_nan) return nan == other_nan ? earlier : other_nan;
  if (real_ == other.real_) return earlier;
  return (other.real_ > real_) == is_maximum(reduction_);
}

void Accumulator::merge(const Accumulator& other) {
  if (!is_arg(reduction_)) return take(other.real_, other.whole_);
  if (other.position_ >= 0 && replaces(other)) *this = other;
}

Lane Accumulator::outcome_lane(Reduction reduction, DType compute) {
  const bool whole =
      is_arg(reduction) || reduction == Reduction::Any || reduction == Reduction::All;
  return is_float(compute) && !whole ? Lane::F64 : Lane::I64;
}

std::uint64_t Accumulator::outcome() const {
  if (is_arg(reduction_)) return static_cast<std::uint64_t>(position_);
  if (outcome_lane(reduction_, compute_) == Lane::F64) return std::bit_cast<std::uint64_t>(real_);
  return static_cast<std::uint64_t>(whole_);
}

}  // namespace spyre::kernels
