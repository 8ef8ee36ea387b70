// spyre/engine/reduction.cpp — sums, extremes, norms and variances, recorded as primitives.
//
// A reduction accumulates in float64 and is rounded once: means and norms divide or take roots in
// float64 first.
#include "spyre/engine/reduction.h"

#include <ATen/Operators.h>
#include <ATen/WrapDimUtilsMulti.h>

#include <cmath>
#include <limits>

#include "spyre/engine/operators.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {

std::uint32_t all_dimensions(const at::Tensor& tensor) {
  return (1U << static_cast<unsigned>(tensor.dim())) - 1;
}

std::uint32_t dimension_set(const at::Tensor& tensor, at::OptionalIntArrayRef dims) {
  if (!dims.has_value() || dims->empty()) return all_dimensions(tensor);
  const auto bits = at::dim_list_to_bitset(*dims, static_cast<std::size_t>(tensor.dim()));
  return static_cast<std::uint32_t>(bits.to_ullong()) & all_dimensions(tensor);
}

std::uint32_t dimension_set(const at::Tensor& tensor, std::int64_t dim) {
  const std::int64_t wrapped = at::maybe_wrap_dim(dim, tensor.dim());
  return tensor.dim() == 0 ? 0 : 1U << static_cast<unsigned>(wrapped);
}

std::uint32_t trailing_dimensions(const at::Tensor& tensor, std::size_t count) {
  const std::uint32_t leading = (1U << (static_cast<std::size_t>(tensor.dim()) - count)) - 1;
  return all_dimensions(tensor) & ~leading;
}

std::int64_t reduced_count(const at::Tensor& tensor, std::uint32_t dims) {
  std::int64_t count = 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    if (((dims >> d) & 1U) != 0) count *= tensor.size(d);
  return count;
}

DType working_type(DType type) { return is_reduced_float(type) ? DType::F32 : type; }

at::Tensor sum_over(const at::Tensor& tensor, std::uint32_t dims, DType compute, DType result,
                    bool keep) {
  return reduce({kernels::Reduction::Sum, compute, result, dims}, tensor, keep);
}

at::Tensor without_dims(const at::Tensor& kept, std::uint32_t dims) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t d = 0; d < kept.dim(); ++d)
    if (((dims >> d) & 1U) == 0) sizes.push_back(kept.size(d));
  return kept.view(sizes);
}

Moments moments(const at::Tensor& tensor, std::uint32_t dims) {
  const DType type = *native_type(tensor.scalar_type()), work = working_type(type);
  const Vocabulary& w = words();
  Moments m;
  m.count = reduced_count(tensor, dims);
  const at::Tensor sum = sum_over(tensor, dims, type, DType::F64, /*keep=*/true);
  m.mean = apply(w.div, DType::F64, work, {sum, static_cast<double>(m.count)});
  m.centered = apply(w.sub, work, {tensor, m.mean});
  m.squares = sum_over(apply(w.square, work, {m.centered}), dims, work, DType::F64, /*keep=*/true);
  return m;
}

namespace {

using at::OptionalIntArrayRef;
using at::Tensor;
using c10::Scalar;
using kernels::Reduction;
using ScalarType = std::optional<c10::ScalarType>;

bool fits(const Tensor& self) {
  return native_type(self.scalar_type()).has_value() &&
         self.dim() < static_cast<std::int64_t>(kMaxRank);
}

bool is_floating(const Tensor& self) {
  return fits(self) && is_float(*native_type(self.scalar_type()));
}

/// The type of a sum or product: integers widen to int64.
std::optional<DType> total_type(const Tensor& self, ScalarType dtype) {
  if (dtype) return native_type(*dtype);
  return c10::isIntegralType(self.scalar_type(), true) ? DType::I64
                                                       : native_type(self.scalar_type());
}

Tensor sum_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, ScalarType dtype) {
  const std::optional<DType> type = total_type(self, dtype);
  if (!fits(self) || !type)
    return as_library<ATEN_OP2(sum, dim_IntList)>::call(self, dim, keepdim, dtype);
  return sum_over(self, dimension_set(self, dim), *type, *type, keepdim);
}

Tensor sum_all(const Tensor& self, ScalarType dtype) {
  return sum_dims(self, OptionalIntArrayRef(), false, dtype);
}

Tensor nansum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, ScalarType dtype) {
  if (self.is_complex() || (dtype && c10::isComplexType(*dtype)))
    return as_library<ATEN_OP(nansum)>::call(self, dim, keepdim, dtype);
  if (!is_floating(self)) return sum_dims(self, dim, keepdim, dtype);
  const DType type = *native_type(self.scalar_type());
  const Tensor is_nan = apply(words().isnan, type, DType::Bool, {self});
  return sum_dims(apply(words().where, type, {is_nan, 0.0, self}), dim, keepdim, dtype);
}

Tensor mean_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, ScalarType dtype) {
  const std::optional<DType> type = native_type(dtype.value_or(self.scalar_type()));
  if (!fits(self) || !type || !is_float(*type))
    return as_library<ATEN_OP2(mean, dim)>::call(self, dim, keepdim, dtype);
  const std::uint32_t dims = dimension_set(self, dim);
  const Tensor total = sum_over(self, dims, *type, DType::F64, keepdim);
  return apply(words().div, DType::F64, *type,
               {total, static_cast<double>(reduced_count(self, dims))});
}

Tensor mean_all(const Tensor& self, ScalarType dtype) {
  return mean_dims(self, OptionalIntArrayRef(), false, dtype);
}

Tensor prod_all(const Tensor& self, ScalarType dtype) {
  const std::optional<DType> type = total_type(self, dtype);
  if (!fits(self) || !type) return as_library<ATEN_OP(prod)>::call(self, dtype);
  return reduce({Reduction::Prod, *type, *type, all_dimensions(self)}, self, false);
}

Tensor prod(const Tensor& self, std::int64_t dim, bool keepdim, ScalarType dtype) {
  const std::optional<DType> type = total_type(self, dtype);
  if (!fits(self) || !type)
    return as_library<ATEN_OP2(prod, dim_int)>::call(self, dim, keepdim, dtype);
  return reduce({Reduction::Prod, *type, *type, dimension_set(self, dim)}, self, keepdim);
}

/// An extreme has no identity: nothing to reduce is CPU's error.
bool has_extreme(const Tensor& self, std::uint32_t dims) {
  return fits(self) && reduced_count(self, dims) > 0;
}

Tensor extreme(Reduction reduction, const Tensor& self, std::uint32_t dims, bool keepdim) {
  const DType type = *native_type(self.scalar_type());
  return reduce({reduction, type, type, dims}, self, keepdim);
}

Tensor amax(const Tensor& self, c10::IntArrayRef dim, bool keepdim) {
  const std::uint32_t dims = dimension_set(self, dim);
  if (!has_extreme(self, dims)) return as_library<ATEN_OP(amax)>::call(self, dim, keepdim);
  return extreme(Reduction::Max, self, dims, keepdim);
}

Tensor amin(const Tensor& self, c10::IntArrayRef dim, bool keepdim) {
  const std::uint32_t dims = dimension_set(self, dim);
  if (!has_extreme(self, dims)) return as_library<ATEN_OP(amin)>::call(self, dim, keepdim);
  return extreme(Reduction::Min, self, dims, keepdim);
}

Tensor max_all(const Tensor& self) {
  if (!has_extreme(self, all_dimensions(self))) return as_library<ATEN_OP(max)>::call(self);
  return extreme(Reduction::Max, self, all_dimensions(self), false);
}

Tensor min_all(const Tensor& self) {
  if (!has_extreme(self, all_dimensions(self))) return as_library<ATEN_OP(min)>::call(self);
  return extreme(Reduction::Min, self, all_dimensions(self), false);
}

Tensor position(Reduction reduction, const Tensor& self, std::uint32_t dims, bool keepdim) {
  const DType type = *native_type(self.scalar_type());
  if (self.dim() == 0) return position(reduction, self.unsqueeze(0), 1, false);
  return reduce({reduction, type, DType::I64, dims}, self, keepdim);
}

std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim, bool keepdim) {
  const std::uint32_t dims = dimension_set(self, dim);
  if (!has_extreme(self, dims)) return as_library<ATEN_OP2(max, dim)>::call(self, dim, keepdim);
  return {extreme(Reduction::Max, self, dims, keepdim),
          position(Reduction::ArgMax, self, dims, keepdim)};
}

std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim, bool keepdim) {
  const std::uint32_t dims = dimension_set(self, dim);
  if (!has_extreme(self, dims)) return as_library<ATEN_OP2(min, dim)>::call(self, dim, keepdim);
  return {extreme(Reduction::Min, self, dims, keepdim),
          position(Reduction::ArgMin, self, dims, keepdim)};
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<std::int64_t> dim,
                                   bool keepdim) {
  const std::uint32_t dims = dim ? dimension_set(self, *dim) : all_dimensions(self);
  if (!has_extreme(self, dims)) return as_library<ATEN_OP(aminmax)>::call(self, dim, keepdim);
  return {extreme(Reduction::Min, self, dims, keepdim),
          extreme(Reduction::Max, self, dims, keepdim)};
}

/// Without a dimension: the position in the flattened tensor.
Tensor position_of(Reduction reduction, const Tensor& self, std::optional<std::int64_t> dim,
                   bool keepdim) {
  if (dim) return position(reduction, self, dimension_set(self, *dim), keepdim);
  const Tensor found = position(reduction, self.reshape({-1}), 1, false);
  return keepdim ? found.view(std::vector<std::int64_t>(static_cast<std::size_t>(self.dim()), 1))
                 : found;
}

bool has_position(const Tensor& self, std::optional<std::int64_t> dim) {
  return self.scalar_type() != c10::kBool &&
         has_extreme(self, dim ? dimension_set(self, *dim) : all_dimensions(self));
}

Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  if (!has_position(self, dim)) return as_library<ATEN_OP(argmax)>::call(self, dim, keepdim);
  return position_of(Reduction::ArgMax, self, dim, keepdim);
}

Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  if (!has_position(self, dim)) return as_library<ATEN_OP(argmin)>::call(self, dim, keepdim);
  return position_of(Reduction::ArgMin, self, dim, keepdim);
}

/// uint8 is the one type whose any and all are not bool.
Tensor truth(Reduction reduction, const Tensor& self, std::uint32_t dims, bool keepdim) {
  const DType result = self.scalar_type() == c10::kByte ? DType::U8 : DType::Bool;
  return reduce({reduction, DType::Bool, result, dims}, self, keepdim);
}

Tensor any(const Tensor& self, std::int64_t dim, bool keepdim) {
  if (!fits(self)) return as_library<ATEN_OP2(any, dim)>::call(self, dim, keepdim);
  return truth(Reduction::Any, self, dimension_set(self, dim), keepdim);
}
Tensor any_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  if (!fits(self)) return as_library<ATEN_OP2(any, dims)>::call(self, dim, keepdim);
  const bool none = dim.has_value() && dim->empty();
  return truth(Reduction::Any, self, none ? 0 : dimension_set(self, dim), keepdim);
}
Tensor any_all(const Tensor& self) {
  return fits(self) ? truth(Reduction::Any, self, all_dimensions(self), false)
                    : as_library<ATEN_OP(any)>::call(self);
}
Tensor all(const Tensor& self, std::int64_t dim, bool keepdim) {
  if (!fits(self)) return as_library<ATEN_OP2(all, dim)>::call(self, dim, keepdim);
  return truth(Reduction::All, self, dimension_set(self, dim), keepdim);
}
Tensor all_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  if (!fits(self)) return as_library<ATEN_OP2(all, dims)>::call(self, dim, keepdim);
  const bool none = dim.has_value() && dim->empty();
  return truth(Reduction::All, self, none ? 0 : dimension_set(self, dim), keepdim);
}
Tensor all_all(const Tensor& self) {
  return fits(self) ? truth(Reduction::All, self, all_dimensions(self), false)
                    : as_library<ATEN_OP(all)>::call(self);
}

Tensor count_nonzero(const Tensor& self, c10::IntArrayRef dim) {
  if (!fits(self)) return as_library<ATEN_OP2(count_nonzero, dim_IntList)>::call(self, dim);
  const DType type = *native_type(self.scalar_type());
  const Tensor nonzero = apply(words().ne, type, DType::Bool, {self, 0.0});
  return sum_over(nonzero, dimension_set(self, dim), DType::I64, DType::I64, false);
}

}  // namespace

void register_reductions(Registrations& registrations) {
  registrations.add_function<&sum_dims>("sum.dim_IntList");
  registrations.add_function<&sum_all>("sum");
  registrations.add_function<&nansum>("nansum");
  registrations.add_function<&mean_dims>("mean.dim");
  registrations.add_function<&mean_all>("mean");
  registrations.add_function<&prod>("prod.dim_int");
  registrations.add_function<&prod_all>("prod");
  registrations.add_function<&amax>("amax");
  registrations.add_function<&amin>("amin");
  registrations.add_function<&max>("max.dim");
  registrations.add_function<&max_all>("max");
  registrations.add_function<&min>("min.dim");
  registrations.add_function<&min_all>("min");
  registrations.add_function<&aminmax>("aminmax");
  registrations.add_function<&argmax>("argmax");
  registrations.add_function<&argmin>("argmin");
  registrations.add_function<&any>("any.dim");
  registrations.add_function<&any_dims>("any.dims");
  registrations.add_function<&any_all>("any");
  registrations.add_function<&all>("all.dim");
  registrations.add_function<&all_dims>("all.dims");
  registrations.add_function<&all_all>("all");
  registrations.add_function<&count_nonzero>("count_nonzero.dim_IntList");
}

}  // namespace spyre::engine
