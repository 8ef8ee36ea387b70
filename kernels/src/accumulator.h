// spyre/kernels/accumulator.h — one running reduction of the interpreter, as op.h states it.
#pragma once
#include <cstdint>

#include "spyre/kernels/numerics.h"
#include "spyre/kernels/op.h"

namespace spyre::kernels {

/// Floats accumulate in float64 (on the card's own terms: rounded to DLFloat16 each time), everything else in int64. A
/// value.
class Accumulator {
 public:
  Accumulator(Reduction reduction, DType compute, Numerics numerics);

  /// Takes the element at `position`; `cell` has the lane of the compute type.
  void add(std::uint64_t cell, std::int64_t position);
  /// Takes what another one has seen.
  void merge(const Accumulator& other);
  /// The bits of the outcome, in outcome_lane().
  std::uint64_t outcome() const;
  static Lane outcome_lane(Reduction reduction, DType compute);

 private:
  void take(double real, std::int64_t whole);
  bool replaces(const Accumulator& other) const;

  Reduction reduction_;
  DType compute_;
  Numerics numerics_;
  double real_ = 0;
  std::int64_t whole_ = 0;
  std::int64_t position_ = -1;  // of the extreme; below zero: nothing seen
};

}  // namespace spyre::kernels
