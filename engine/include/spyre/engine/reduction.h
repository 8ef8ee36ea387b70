// spyre/engine/reduction.h — words for operators that reduce: dimensions, sums, moments.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "spyre/engine/recorder.h"

namespace spyre::engine {

/// Bit set of the dimensions named by `dims` (none or empty: all). Raises as CPU does for bad or
/// repeated ones. A 0-dimensional tensor has no bits.
std::uint32_t dimension_set(const at::Tensor& tensor, at::OptionalIntArrayRef dims);
std::uint32_t dimension_set(const at::Tensor& tensor, std::int64_t dim);
/// The last `count` dimensions.
std::uint32_t trailing_dimensions(const at::Tensor& tensor, std::size_t count);
std::uint32_t all_dimensions(const at::Tensor& tensor);

/// How many elements go into one result.
std::int64_t reduced_count(const at::Tensor& tensor, std::uint32_t dims);

/// The type in which a value of a float type is worked on: float32 for the reduced floats.
DType working_type(DType type);

/// Sum over `dims`, of values converted to `compute`.
at::Tensor sum_over(const at::Tensor& tensor, std::uint32_t dims, DType compute, DType result,
                    bool keep);

/// A result that kept its reduced dimensions, without them.
at::Tensor without_dims(const at::Tensor& kept, std::uint32_t dims);

/// Mean, and the mean squared deviation from it, each in the working type; dimensions are kept.
struct Moments {
  at::Tensor mean;
  at::Tensor centered;  // tensor - mean
  at::Tensor squares;   // sum of squared deviations, float64
  std::int64_t count = 0;
};
Moments moments(const at::Tensor& tensor, std::uint32_t dims);

}  // namespace spyre::engine
