// spyre/engine/factories.cpp — tensors from numbers and positions: fill, arange, eye, tril.
//
// Positions are Iota inputs: a counter that needs no memory.
#include <ATen/MemoryOverlap.h>
#include <ATen/Operators.h>
#include <ATen/native/RangeUtils.h>
#include <ATen/native/Resize.h>

#include <array>

#include "spyre/engine/iota.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using c10::Scalar;

bool fits(const Tensor& t) {
  return native_type(t.scalar_type()) && t.dim() < static_cast<std::int64_t>(kMaxRank);
}

/// Writes to one location of each set that overlaps itself: filling is the same for all of them.
Tensor without_repeats(const Tensor& self) {
  if (self.is_non_overlapping_and_dense()) return self;
  std::vector<std::int64_t> sizes = self.sizes().vec();
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (self.strides()[d] == 0) sizes[d] = std::min<std::int64_t>(sizes[d], 1);
  return self.as_strided(sizes, self.strides());
}

void fill_with(const Tensor& self, const Operand& value) {
  const DType type = *native_type(self.scalar_type());
  record_pointwise({words().copy, type, type}, {&value, 1}, without_repeats(self));
}

Tensor& fill(Tensor& self, const Scalar& value) {
  if (!fits(self) || value.isComplex())
    return elements_as_library<ATEN_OP2(fill_, Scalar)>::call(self, value), self;
  check_representable(value, *native_type(self.scalar_type()));
  fill_with(self, value);
  return self;
}

/// An element that a number is stored in: unlike fill_, it takes numbers beyond the range of a short float.
Tensor scalar_tensor(const Scalar& number, std::optional<c10::ScalarType> dtype,
                     std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                     std::optional<bool> pinned) {
  Tensor element = at::empty({}, dtype, layout, device, pinned, std::nullopt);
  const std::optional<DType> type = native_type(element.scalar_type());
  if (!type || !is_reduced_float(*type) || number.isComplex()) return element.fill_(number);
  fill_with(element, number);
  return element;
}

Tensor& fill_from(Tensor& self, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  if (!fits(self) || !fits(value))
    return elements_as_library<ATEN_OP2(fill_, Tensor)>::call(self, value), self;
  if (!value.is_privateuseone()) return fill(self, value.item());
  const Tensor apart = value.is_alias_of(self) ? materialized(value) : value;
  fill_with(self, converted(apart, *native_type(self.scalar_type())));
  return self;
}

Tensor& zero(Tensor& self) {
  if (!fits(self)) return elements_as_library<ATEN_OP(zero_)>::call(self), self;
  fill_with(self, Scalar(0));
  return self;
}

/// Resizes a one-dimensional `out`, with PyTorch's warning if it held something else. Raises if its elements overlap.
void resize_range(Tensor& out, std::int64_t size) {
  if (out.numel() != size) at::native::resize_output(out, {size});
  at::assert_no_internal_overlap(out);
}

Tensor& arange(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  const bool counts = fits(out) && out.scalar_type() != c10::kBool;
  if (!counts || start.isComplex() || end.isComplex() || step.isComplex())
    return as_library<ATEN_OP2(arange, start_out)>::call(start, end, step, out), out;
  at::assert_no_internal_overlap(out);
  const bool whole = c10::isIntegralType(out.scalar_type(), true);
  resize_range(out, out.scalar_type() == c10::kLong
                        ? at::native::compute_arange_size<std::int64_t>(start, end, step)
                        : at::native::compute_arange_size<double>(start, end, step));
  const Tensor flat = out.dim() == 1 ? out : out.view({-1});
  if (whole) {
    record_iota({words().copy, DType::I64, DType::I64}, {start.toLong(), {step.toLong()}}, {},
                flat);
  } else {
    const std::array<Operand, 2> numbers{step, start};
    record_iota({words().affine, DType::F64, *native_type(out.scalar_type())}, {0, {1}}, numbers,
                flat);
  }
  return out;
}

/// Counts from both ends towards the middle, so that both are exact.
Tensor& linspace(const Scalar& start, const Scalar& end, std::int64_t steps, Tensor& out) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  const std::optional<DType> type = native_type(out.scalar_type());
  if (!type || !is_float(*type) || start.isComplex() || end.isComplex())
    return as_library<ATEN_OP2(linspace, out)>::call(start, end, steps, out), out;
  resize_range(out, steps);
  const double first = start.toDouble(), last = end.toDouble();
  const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
  const std::int64_t half = steps == 1 ? 1 : steps / 2;
  const Tensor flat = out.view({-1});
  const PointwiseOp line{words().affine, DType::F64, *type};
  const std::array<Operand, 2> rising{step, first}, falling{-step, last};
  record_iota(line, {0, {1}}, rising, flat.narrow(0, 0, std::min(half, steps)));
  if (steps > half)
    record_iota(line, {steps - half - 1, {-1}}, falling, flat.narrow(0, half, steps - half));
  return out;
}

Tensor& eye(std::int64_t rows, std::int64_t columns, Tensor& out) {
  TORCH_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
  TORCH_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
  at::native::resize_output(out, {rows, columns});
  at::assert_no_internal_overlap(out);
  if (!fits(out)) return as_library<ATEN_OP2(eye, m_out)>::call(rows, columns, out), out;
  const std::array<Operand, 1> zero{Scalar(0)};
  record_iota({kernels::op_named("eq"), DType::I64, DType::Bool}, {0, {1, -1}}, zero, out);
  return out;
}

Tensor& square_eye(std::int64_t rows, Tensor& out) { return eye(rows, rows, out); }

/// Bool, true where column - row is on the kept side of `diagonal`.
Tensor triangle(const Tensor& self, std::string_view comparison, std::int64_t diagonal) {
  Tensor mask = empty(self.sizes().slice(static_cast<std::size_t>(self.dim()) - 2), c10::kBool,
                      self.device());
  const std::array<Operand, 1> bound{Scalar(diagonal)};
  record_iota({kernels::op_named(comparison), DType::I64, DType::Bool}, {0, {-1, 1}}, bound, mask);
  return mask;
}

Tensor keep_triangle(const Tensor& self, std::string_view comparison, std::int64_t diagonal) {
  const DType type = *native_type(self.scalar_type());
  Tensor out = empty(self.sizes(), self.scalar_type(), self.device());
  const Tensor mask = triangle(self, comparison, diagonal);
  const std::array<Operand, 3> operands{mask, self, Scalar(0)};
  record_pointwise({words().where, type, type}, operands, out);
  return out;
}

Tensor tril(const Tensor& self, std::int64_t diagonal) {
  if (self.dim() < 2 || !fits(self)) return as_library<ATEN_OP(tril)>::call(self, diagonal);
  return keep_triangle(self, "le", diagonal);
}

Tensor triu(const Tensor& self, std::int64_t diagonal) {
  if (self.dim() < 2 || !fits(self)) return as_library<ATEN_OP(triu)>::call(self, diagonal);
  return keep_triangle(self, "ge", diagonal);
}

}  // namespace

void register_factories(Registrations& registrations) {
  registrations.add_overload<&fill>("fill_.Scalar");
  registrations.add_overload<&scalar_tensor>("scalar_tensor");
  registrations.add_overload<&fill_from>("fill_.Tensor");
  registrations.add_overload<&zero>("zero_");
  registrations.add_overload<&arange>("arange.start_out");
  registrations.add_overload<&linspace>("linspace.out");
  registrations.add_overload<&eye>("eye.m_out");
  registrations.add_overload<&square_eye>("eye.out");
  registrations.add_function<&tril>("tril");
  registrations.add_function<&triu>("triu");
}

}  // namespace spyre::engine
