// spyre/engine/losses.cpp — element-wise losses, their gradients, and prelu's.
#include <ATen/Operators.h>
#include <ATen/core/Reduction.h>

#include <array>

#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/reduction.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"
#include "unit_range.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using Optional = const std::optional<Tensor>&;

/// CPU's kernels differ in what they make of another number.
bool is_reduction(std::int64_t reduction) {
  return reduction >= at::Reduction::None && reduction <= at::Reduction::Sum;
}

bool serves(std::initializer_list<const Tensor*> tensors,
            std::int64_t reduction = at::Reduction::None) {
  if (!is_reduction(reduction)) return false;
  const Tensor& first = **tensors.begin();
  const std::optional<DType> type = native_type(first.scalar_type());
  if (!type || !is_float(*type)) return false;
  check_same_device({tensors.begin(), tensors.size()}, first.device());
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor* t) {
    return t->scalar_type() == first.scalar_type() &&
           t->dim() < static_cast<std::int64_t>(kMaxRank);
  });
}

DType type_of(const Tensor& t) { return *native_type(t.scalar_type()); }

/// The losses of all elements, reduced as asked. A mean is divided before it is rounded.
Tensor reduced(const Tensor& losses, std::int64_t reduction, DType type) {
  if (reduction == at::Reduction::None) return converted(losses, type);
  const DType work = type_of(losses);
  const std::uint32_t dims = all_dimensions(losses);
  if (reduction == at::Reduction::Sum) return sum_over(losses, dims, work, type, false);
  const Tensor sum = sum_over(losses, dims, work, DType::F64, false);
  return apply(words().div, DType::F64, type, {sum, static_cast<double>(losses.numel())});
}

/// What a mean divides gradients by.
double share(const Tensor& input, std::int64_t reduction) {
  return reduction == at::Reduction::Mean ? 1.0 / static_cast<double>(input.numel()) : 1.0;
}

Tensor mse_loss(const Tensor& self, const Tensor& target, std::int64_t reduction) {
  if (!serves({&self, &target}, reduction))
    return as_library<ATEN_OP(mse_loss)>::call(self, target, reduction);
  static const OpId op = kernels::op_named("squared_error");
  return reduced(apply(op, working_type(type_of(self)), {self, target}), reduction, type_of(self));
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         std::int64_t reduction) {
  if (!serves({&self, &target, &grad}))
    return as_library<ATEN_OP(mse_loss_backward)>::call(grad, self, target, reduction);
  static const OpId op = kernels::op_named("squared_error_backward");
  return apply(op, type_of(self), {grad, self, target, 2 * share(self, reduction)});
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, std::int64_t reduction,
                      double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  if (!serves({&self, &target}, reduction))
    return as_library<ATEN_OP(smooth_l1_loss)>::call(self, target, reduction, beta);
  static const OpId op = kernels::op_named("smooth_l1");
  return reduced(apply(op, working_type(type_of(self)), {self, target, beta}), reduction,
                 type_of(self));
}

Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               std::int64_t reduction, double beta) {
  if (!serves({&self, &target, &grad}))
    return as_library<ATEN_OP(smooth_l1_loss_backward)>::call(grad, self, target, reduction, beta);
  static const OpId op = kernels::op_named("smooth_l1_backward");
  return apply(op, type_of(self), {grad, self, target, beta, share(self, reduction)});
}

Tensor huber_loss(const Tensor& self, const Tensor& target, std::int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  if (!serves({&self, &target}, reduction))
    return as_library<ATEN_OP(huber_loss)>::call(self, target, reduction, delta);
  static const OpId op = kernels::op_named("huber");
  return reduced(apply(op, working_type(type_of(self)), {self, target, delta}), reduction,
                 type_of(self));
}

Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                           std::int64_t reduction, double delta) {
  if (!serves({&self, &target, &grad}))
    return as_library<ATEN_OP(huber_loss_backward)>::call(grad, self, target, reduction, delta);
  static const OpId op = kernels::op_named("huber_backward");
  return apply(op, type_of(self), {grad, self, target, delta, share(self, reduction)});
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, Optional weight,
                            std::int64_t reduction) {
  const Tensor* const weights = if_defined(weight);
  if (self.sizes() != target.sizes() ||
      !serves({&self, &target, weights ? weights : &self}, reduction))
    return as_library<ATEN_OP(binary_cross_entropy)>::call(self, target, weight, reduction);
  static const OpId op = kernels::op_named("binary_cross_entropy");
  check_unit_range(self, "binary_cross_entropy", "all elements of input should be between 0 and 1");
  const DType work = working_type(type_of(self));
  Tensor losses = apply(op, work, {self, target});
  if (weights != nullptr) losses = apply(words().mul, work, {losses, *weights});
  return reduced(losses, reduction, type_of(self));
}

Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     Optional weight, std::int64_t reduction) {
  const Tensor* const weights = if_defined(weight);
  const std::array<const Tensor*, 3> operands{&self, &target, &grad};
  const bool fits = broadcast_sizes(operands) == dims_of(self.sizes());
  if (!fits || !serves({&self, &target, &grad, weights ? weights : &self}, reduction))
    return as_library<ATEN_OP(binary_cross_entropy_backward)>::call(grad, self, target, weight,
                                                                    reduction);
  static const OpId op = kernels::op_named("binary_cross_entropy_backward");
  const DType type = type_of(self), work = working_type(type);
  Tensor slope = apply(op, work, {grad, self, target});
  if (weights != nullptr) slope = apply(words().mul, work, {slope, *weights});
  return apply(words().mul, work, type, {slope, share(self, reduction)});
}

/// The buffer of CPU's kernel is not needed.
std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
  if (!serves({&self})) return as_library<ATEN_OP(log_sigmoid_forward)>::call(self);
  static const OpId op = kernels::op_named("log_sigmoid");
  return {apply(op, type_of(self), {self}), empty({0}, self.scalar_type(), self.device())};
}

Tensor log_sigmoid_backward(const Tensor& grad, const Tensor& self, const Tensor& buffer) {
  const bool is_ours = buffer.numel() == 0 && buffer.scalar_type() == self.scalar_type();
  if (!is_ours || !serves({&self, &grad}))
    return as_library<ATEN_OP(log_sigmoid_backward)>::call(grad, self, buffer);
  static const OpId op = kernels::op_named("log_sigmoid_backward");
  return apply(op, type_of(self), {grad, self});
}

std::tuple<Tensor, Tensor> prelu_backward(const Tensor& grad, const Tensor& self,
                                          const Tensor& weight) {
  if (!serves({&self, &grad, &weight}))
    return as_library<ATEN_OP(_prelu_kernel_backward)>::call(grad, self, weight);
  static const OpId of_self = kernels::op_named("prelu_backward_self");
  static const OpId of_weight = kernels::op_named("prelu_backward_weight");
  return {apply(of_self, type_of(self), {grad, self, weight}),
          apply(of_weight, type_of(self), {grad, self})};
}

}  // namespace

void register_losses(Registrations& registrations) {
  registrations.add_function<&mse_loss>("mse_loss");
  registrations.add_function<&mse_loss_backward>("mse_loss_backward");
  registrations.add_function<&smooth_l1_loss>("smooth_l1_loss");
  registrations.add_function<&smooth_l1_loss_backward>("smooth_l1_loss_backward");
  registrations.add_function<&huber_loss>("huber_loss");
  registrations.add_function<&huber_loss_backward>("huber_loss_backward");
  registrations.add_function<&binary_cross_entropy>("binary_cross_entropy");
  registrations.add_function<&binary_cross_entropy_backward>("binary_cross_entropy_backward");
  registrations.add_function<&log_sigmoid_forward>("log_sigmoid_forward");
  registrations.add_function<&log_sigmoid_backward>("log_sigmoid_backward");
  registrations.add_overload<&prelu_backward>("_prelu_kernel_backward");
}

}  // namespace spyre::engine
