// spyre/engine/variance.cpp — variances, standard deviations and vector norms.
#include <ATen/Operators.h>
#include <ATen/ops/linalg__powsum_compositeexplicitautograd_dispatch.h>

#include <cmath>

#include "spyre/engine/operators.h"
#include "spyre/engine/reduction.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::OptionalIntArrayRef;
using at::Tensor;
using c10::Scalar;
using kernels::Reduction;

bool is_floating(const Tensor& self) {
  const std::optional<DType> type = native_type(self.scalar_type());
  return type && is_float(*type) && self.dim() < static_cast<std::int64_t>(kMaxRank);
}

enum class Spread : std::uint8_t { Variance, Deviation };

/// The spread, and the mean, of `self` over `dim`.
std::tuple<Tensor, Tensor> spread_and_mean(Spread spread, const Tensor& self,
                                           OptionalIntArrayRef dim,
                                           const std::optional<Scalar>& correction, bool keepdim) {
  const std::uint32_t dims = dimension_set(self, dim);
  const Moments m = moments(self, dims);
  const double freedom = static_cast<double>(m.count) - correction.value_or(1).toDouble();
  if (freedom <= 0)
    TORCH_WARN(spread == Spread::Variance ? "var" : "std",
               "(): degrees of freedom is <= 0. Correction should be strictly less than the "
               "reduction factor (input "
               "numel divided by output numel).");
  const DType type = *native_type(self.scalar_type());
  const Vocabulary& w = words();
  const double divisor = std::max(freedom, 0.0);
  const Tensor value =
      spread == Spread::Variance
          ? apply(w.div, DType::F64, type, {m.squares, divisor})
          : apply(w.sqrt, DType::F64, type, {apply(w.div, DType::F64, {m.squares, divisor})});
  const Tensor mean = converted(m.mean, type);
  if (keepdim) return {value, mean};
  return {without_dims(value, dims), without_dims(mean, dims)};
}

Tensor var(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  if (!is_floating(self))
    return as_library<ATEN_OP2(var, correction)>::call(self, dim, correction, keepdim);
  return std::get<0>(spread_and_mean(Spread::Variance, self, dim, correction, keepdim));
}

Tensor std_deviation(const Tensor& self, OptionalIntArrayRef dim,
                     const std::optional<Scalar>& correction, bool keepdim) {
  if (!is_floating(self))
    return as_library<ATEN_OP2(std, correction)>::call(self, dim, correction, keepdim);
  return std::get<0>(spread_and_mean(Spread::Deviation, self, dim, correction, keepdim));
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntArrayRef dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  if (!is_floating(self))
    return as_library<ATEN_OP2(var_mean, correction)>::call(self, dim, correction, keepdim);
  return spread_and_mean(Spread::Variance, self, dim, correction, keepdim);
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntArrayRef dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  if (!is_floating(self))
    return as_library<ATEN_OP2(std_mean, correction)>::call(self, dim, correction, keepdim);
  return spread_and_mean(Spread::Deviation, self, dim, correction, keepdim);
}

/// sum(|x|^order)^(1/order), with its limits; `type` is the result's.
Tensor norm_over(const Tensor& self, double order, std::uint32_t dims, bool keepdim, DType type) {
  const DType work = working_type(type);
  const Vocabulary& w = words();
  const Tensor x = converted(self, work);
  if (std::isinf(order)) {
    const Reduction extreme = order > 0 ? Reduction::Max : Reduction::Min;
    return reduce({extreme, work, type, dims}, apply(w.abs, work, {x}), keepdim);
  }
  if (order == 0)
    return sum_over(apply(w.ne, work, DType::Bool, {x, 0.0}), dims, type, type, keepdim);
  if (order == 1) return sum_over(apply(w.abs, work, {x}), dims, work, type, keepdim);
  if (order == 2) {
    const Tensor total = sum_over(apply(w.square, work, {x}), dims, work, DType::F64, keepdim);
    return apply(w.sqrt, DType::F64, type, {total});
  }
  const Tensor powers = apply(w.pow, work, {apply(w.abs, work, {x}), order});
  return apply(w.pow, DType::F64, type,
               {sum_over(powers, dims, work, DType::F64, keepdim), 1 / order});
}

Tensor vector_norm(const Tensor& self, const Scalar& order, OptionalIntArrayRef dim, bool keepdim,
                   std::optional<c10::ScalarType> dtype) {
  if (!is_floating(self))  // CPU looks at types before dimensions
    return as_library<ATEN_OP(linalg_vector_norm)>::call(self, order, dim, keepdim, dtype);
  const std::uint32_t dims = dimension_set(self, dim);
  const std::optional<DType> type = native_type(dtype.value_or(self.scalar_type()));
  const bool narrows = dtype && c10::promoteTypes(self.scalar_type(), *dtype) != *dtype;
  const bool has_identity =
      reduced_count(self, dims) > 0 ||
      (!order.isComplex() && order.toDouble() >= 0 && !std::isinf(order.toDouble()));
  if (!type || !is_float(*type) || order.isComplex() || !has_identity || narrows)
    return as_library<ATEN_OP(linalg_vector_norm)>::call(self, order, dim, keepdim, dtype);
  return norm_over(self, order.toDouble(), dims, keepdim, *type);
}

/// The older forms look at the types first.
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, c10::IntArrayRef dim,
            bool keepdim) {
  if (!is_floating(self))
    return as_library<ATEN_OP2(norm, ScalarOpt_dim)>::call(self, p, dim, keepdim);
  return vector_norm(self, p.value_or(2), dim, keepdim, std::nullopt);
}

Tensor norm_typed(const Tensor& self, const std::optional<Scalar>& p, c10::IntArrayRef dim,
                  bool keepdim, c10::ScalarType dtype) {
  if (!is_floating(self) || !c10::isFloatingType(dtype))
    return as_library<ATEN_OP2(norm, ScalarOpt_dim_dtype)>::call(self, p, dim, keepdim, dtype);
  return vector_norm(self, p.value_or(2), dim, keepdim, dtype);
}

/// sum(|x|^order).
Tensor powers_sum(const Tensor& self, const Scalar& order, OptionalIntArrayRef dim, bool keepdim,
                  std::optional<c10::ScalarType> dtype) {
  if (!is_floating(self) && !self.is_complex())
    return as_library<ATEN_OP(linalg__powsum)>::call(self, order, dim, keepdim, dtype);
  return at::compositeexplicitautograd::linalg__powsum(self, order, dim, keepdim, dtype);
}

}  // namespace

void register_spreads(Registrations& registrations) {
  registrations.add_function<&var>("var.correction");
  registrations.add_function<&std_deviation>("std.correction");
  registrations.add_function<&var_mean>("var_mean.correction");
  registrations.add_function<&std_mean>("std_mean.correction");
  registrations.add_function<&vector_norm>("linalg_vector_norm");
  registrations.add_function<&powers_sum>("linalg__powsum");
  registrations.add_function<&norm>("norm.ScalarOpt_dim");
  registrations.add_function<&norm_typed>("norm.ScalarOpt_dim_dtype");
}

}  // namespace spyre::engine
