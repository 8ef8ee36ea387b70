// spyre/engine/softmax.cpp — softmax and log_softmax, with their gradients, from row reductions.
#include <ATen/Operators.h>

#include "spyre/engine/operators.h"
#include "spyre/engine/reduction.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using kernels::Reduction;

bool serves(const Tensor& self) {
  const std::optional<DType> type = native_type(self.scalar_type());
  return type && is_float(*type) && self.dim() < static_cast<std::int64_t>(kMaxRank);
}

/// The types and the row of one call.
struct Row {
  DType type, work;
  std::uint32_t dims;
  Row(const Tensor& self, std::int64_t dim)
      : type(*native_type(self.scalar_type())),
        work(working_type(type)),
        dims(dimension_set(self, dim)) {}

  Tensor sum(const Tensor& x) const { return sum_over(x, dims, work, work, /*keep=*/true); }
  /// x - max(x), so that no exponential overflows.
  Tensor shifted(const Tensor& x) const {
    return apply(words().sub, work,
                 {x, reduce({Reduction::Max, type, type, dims}, x, /*keep=*/true)});
  }
};

Tensor softmax(const Tensor& self, std::int64_t dim, bool half_to_float) {
  if (!serves(self) || half_to_float)
    return as_library<ATEN_OP(_softmax)>::call(self, dim, half_to_float);
  const Row row(self, dim);
  if (self.numel() == 0) return at::empty_like(self, c10::MemoryFormat::Contiguous);
  const Tensor e = apply(words().exp, row.work, {row.shifted(self)});
  // One division a row: the sum is at least 1, so that its reciprocal neither overflows nor loses digits.
  const Tensor share = apply(words().reciprocal, row.work, {row.sum(e)});
  return apply_contiguous(words().mul, row.work, row.type, {e, share});
}

Tensor log_softmax(const Tensor& self, std::int64_t dim, bool half_to_float) {
  if (!serves(self) || half_to_float)
    return as_library<ATEN_OP(_log_softmax)>::call(self, dim, half_to_float);
  const Row row(self, dim);
  if (self.numel() == 0) return at::empty_like(self, c10::MemoryFormat::Contiguous);
  const Tensor x = row.shifted(self);
  const Tensor log_sum = apply(words().log, row.work, {row.sum(apply(words().exp, row.work, {x}))});
  return apply_contiguous(words().sub, row.work, row.type, {x, log_sum});
}

bool serves_gradient(const Tensor& grad, const Tensor& output, c10::ScalarType input_type) {
  return serves(grad) && grad.scalar_type() == output.scalar_type() &&
         grad.scalar_type() == input_type && grad.sizes() == output.sizes() &&
         grad.device() == output.device();
}

/// output * (grad - sum(grad * output)).
Tensor softmax_backward(const Tensor& grad, const Tensor& output, std::int64_t dim,
                        c10::ScalarType input_type) {
  if (!serves_gradient(grad, output, input_type))
    return as_library<ATEN_OP(_softmax_backward_data)>::call(grad, output, dim, input_type);
  const Row row(grad, dim);
  const Tensor sum = row.sum(apply(words().mul, row.work, {grad, output}));
  return apply_contiguous(words().mul, row.work, row.type,
                          {apply(words().sub, row.work, {grad, sum}), output});
}

/// grad - exp(output) * sum(grad).
Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, std::int64_t dim,
                            c10::ScalarType input_type) {
  if (!serves_gradient(grad, output, input_type))
    return as_library<ATEN_OP(_log_softmax_backward_data)>::call(grad, output, dim, input_type);
  const Row row(grad, dim);
  const Tensor share =
      apply(words().mul, row.work, {apply(words().exp, row.work, {output}), row.sum(grad)});
  return apply_contiguous(words().sub, row.work, row.type, {grad, share});
}

}  // namespace

void register_softmax(Registrations& registrations) {
  registrations.add_function<&softmax>("_softmax");
  registrations.add_function<&log_softmax>("_log_softmax");
  registrations.add_function<&softmax_backward>("_softmax_backward_data");
  registrations.add_function<&log_softmax_backward>("_log_softmax_backward_data");
}

}  // namespace spyre::engine
