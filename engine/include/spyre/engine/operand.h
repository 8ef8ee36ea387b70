// spyre/engine/operand.h — an operator's inputs as they arrive, and the types that follow.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <optional>
#include <span>

#include "spyre/base/dtype.h"
#include "spyre/kernels/op.h"

namespace spyre::engine {

/// As an integer; what int64 cannot hold wraps, as in CPU's conversions of tensors.
std::int64_t wrapped_integer(const c10::Scalar& number);

/// The value of a 0-dimensional CPU tensor.
c10::Scalar read_number(const at::Tensor& tensor);

/// One input of an operator: a tensor on the device, or a number. A 0-dimensional CPU tensor is a
/// number that takes part in type promotion as a tensor does. Borrows its tensor.
class Operand {
 public:
  Operand(
      const at::Tensor&
          tensor);  // NOLINT(google-explicit-constructor): operands are written as plain tensors
  Operand(const c10::Scalar& number) : number_(number) {}  // NOLINT(google-explicit-constructor)
  Operand(double number) : number_(number) {}              // NOLINT(google-explicit-constructor)

  /// A number that never takes part in type promotion: a `float`, `int` or `bool` of the schema.
  static Operand constant(const c10::Scalar& number) {
    Operand operand(number);
    operand.promotes_ = false;
    return operand;
  }

  bool on_device() const { return device_tensor_; }
  const at::Tensor& tensor() const { return *tensor_; }
  /// The tensor that takes part in type promotion, or nullptr for a plain number.
  const at::Tensor* promoting() const { return tensor_; }
  const c10::Scalar& number() const { return number_; }
  bool promotes() const { return promotes_; }

 private:
  const at::Tensor* tensor_ = nullptr;
  bool device_tensor_ = false, promotes_ = true;
  c10::Scalar number_;
};

using Operands = std::span<const Operand>;

/// What an operator computes in, and what it gives.
struct Types {
  DType compute{}, result{};
  c10::ScalarType common{}, returned{};  // the same, in torch's terms
};

/// The common type of the operands, as torch.result_type.
c10::ScalarType common_type(kernels::TypeRule rule, Operands operands);
/// Raises CPU's error if `value` overflows the type.
void check_representable(const c10::Scalar& value, DType type);
/// Nothing if the common type is not a native one.
std::optional<Types> types_of(kernels::TypeRule rule, c10::ScalarType common);

}  // namespace spyre::engine
