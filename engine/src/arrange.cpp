// spyre/engine/arrange.cpp — the same elements in other places: flip, roll, pixel shuffle; and gated halves.
#include <ATen/Functions.h>
#include <ATen/Operators.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/pixel_shuffle_native.h>
#include <ATen/ops/pixel_unshuffle_native.h>

#include <array>

#include "spyre/engine/fallback.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/reduction.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/source.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;

bool fits(const Tensor& t) {
  return native_type(t.scalar_type()) && t.dim() < static_cast<std::int64_t>(kMaxRank);
}

/// A copy that walks the source backwards along some dimensions: negative strides, which a torch tensor cannot have.
Tensor flip(const Tensor& self, c10::IntArrayRef dims) {
  if (!fits(self)) return as_library<ATEN_OP(flip)>::call(self, dims);
  const auto flipped = at::dim_list_to_bitset(dims, static_cast<std::size_t>(self.dim()));
  const Tensor out = at::empty_like(self);
  if (out.numel() == 0) return out;
  Dims strides = dims_of(self.strides());
  lazy::View view = view_of(self);
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (!flipped[d]) continue;
    view.offset += (self.size(static_cast<std::int64_t>(d)) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  view.strides = strides.span();
  const std::array<lazy::Input, 1> inputs{lazy::Input::of(view)};
  lazy_device(out).record(current_stream(out.device()),
                          lazy::Pointwise{.op = words().copy,
                                          .compute = view.dtype,
                                          .result = view.dtype,
                                          .sizes = as_span(out.sizes()),
                                          .inputs = inputs,
                                          .output = view_of(out),
                                          .source = recorded_source(false)});
  return out;
}

Tensor roll_along(const Tensor& self, std::int64_t shift, std::int64_t dim) {
  const std::int64_t size = self.size(dim);
  const std::int64_t start = ((-shift % size) + size) % size;  // the element that comes first
  if (start == 0) return self.clone(c10::MemoryFormat::Contiguous);
  return at::cat({self.narrow(dim, start, size - start), self.narrow(dim, 0, start)}, dim);
}

Tensor roll(const Tensor& self, c10::IntArrayRef shifts, c10::IntArrayRef dims) {
  const bool flat = dims.empty() && shifts.size() == 1;
  if (!fits(self) || shifts.empty() || (!flat && dims.size() != shifts.size()))
    return as_library<ATEN_OP(roll)>::call(self, shifts, dims);
  if (self.numel() == 0) return self.clone(c10::MemoryFormat::Preserve);
  if (flat) return roll_along(self.contiguous().view({-1}), shifts[0], 0).view(self.sizes());
  Tensor rolled = self;
  for (std::size_t i = 0; i < dims.size(); ++i)
    rolled = roll_along(rolled, shifts[i], at::maybe_wrap_dim(dims[i], self.dim()));
  return rolled;
}

/// The two halves of a gated linear unit: value and gate.
struct Halves {
  Tensor value, gate;
  Halves(const Tensor& x, std::int64_t dim) {
    const std::int64_t half = x.size(dim) / 2;
    value = x.narrow(dim, 0, half);
    gate = x.narrow(dim, half, half);
  }
};

bool serves_halves(const Tensor& x, std::int64_t& dim) {
  const std::optional<DType> type = native_type(x.scalar_type());
  if (!type || !is_float(*type) || !fits(x) || x.dim() == 0) return false;
  dim = at::maybe_wrap_dim(dim, x.dim());
  return x.size(dim) % 2 == 0;
}

Tensor glu(const Tensor& self, std::int64_t dim) {
  if (!serves_halves(self, dim)) return as_library<ATEN_OP(glu)>::call(self, dim);
  static const OpId sigmoid = kernels::op_named("sigmoid");
  const DType type = *native_type(self.scalar_type()), work = working_type(type);
  const Halves x(self, dim);
  return apply(words().mul, work, type, {x.value, apply(sigmoid, work, {x.gate})});
}

Tensor glu_backward(const Tensor& grad, const Tensor& self, std::int64_t dim) {
  if (!serves_halves(self, dim) || grad.scalar_type() != self.scalar_type() ||
      grad.sizes() != Halves(self, dim).value.sizes())
    return as_library<ATEN_OP(glu_backward)>::call(grad, self, dim);
  static const OpId sigmoid = kernels::op_named("sigmoid"),
                    slope = kernels::op_named("sigmoid_backward");
  const DType type = *native_type(self.scalar_type()), work = working_type(type);
  Tensor out = at::empty_like(self);
  const Halves x(self, dim), to(out, dim);
  const Tensor gate = apply(sigmoid, work, {x.gate}),
               inner = apply(words().mul, work, {grad, x.value});
  const std::array<Operand, 2> of_value{grad, gate}, of_gate{inner, gate};
  record_pointwise({words().mul, work, type}, of_value, to.value);
  record_pointwise({slope, work, type}, of_gate, to.gate);
  return out;
}

/// CPU looks at all arguments before it narrows, and has errors of its own.
Tensor narrow_copy(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length) {
  const std::int64_t rank = self.dim();
  const bool inside =
      dim >= -rank && dim < rank && start >= 0 && length >= 0 && start + length <= self.size(dim);
  if (!inside) return on_host<ATEN_OP(narrow_copy)>::call(self, dim, start, length);
  return self.narrow(dim, start, length).clone(c10::MemoryFormat::Contiguous);
}

Tensor pixel_shuffle(const Tensor& self, std::int64_t factor) {
  return at::native::math_pixel_shuffle(self, factor);
}
Tensor pixel_unshuffle(const Tensor& self, std::int64_t factor) {
  return at::native::math_pixel_unshuffle(self, factor);
}

bool equal(const Tensor& self, const Tensor& other) {
  const bool comparable =
      fits(self) && self.scalar_type() == other.scalar_type() && self.device() == other.device();
  if (!comparable) return on_host<ATEN_OP(equal)>::call(self, other);
  if (self.sizes() != other.sizes()) return false;
  return at::eq(self, other).all().item<bool>();
}

bool is_set_to(const Tensor& self, const Tensor& other) {
  return self.storage().unsafeGetStorageImpl() == other.storage().unsafeGetStorageImpl() &&
         self.storage_offset() == other.storage_offset() && self.sizes() == other.sizes() &&
         self.strides() == other.strides();
}

}  // namespace

void register_arrangement(Registrations& registrations) {
  registrations.add_function<&flip>("flip");
  registrations.add_function<&roll>("roll");
  registrations.add_function<&narrow_copy>("narrow_copy");
  registrations.add_function<&glu>("glu");
  registrations.add_function<&glu_backward>("glu_backward");
  registrations.add_function<&pixel_shuffle>("pixel_shuffle");
  registrations.add_function<&pixel_unshuffle>("pixel_unshuffle");
  registrations.add_overload<&equal>("equal");
  registrations.add_overload<&is_set_to>("is_set_to");
}

}  // namespace spyre::engine
