// spyre/engine/operand.cpp — an operator's inputs as they arrive, and the types that follow.
#include "spyre/engine/operand.h"

#include <ATen/Functions.h>
#include <ATen/native/TypeProperties.h>

#include "spyre/engine/tensor.h"

namespace spyre::engine {

std::int64_t wrapped_integer(const c10::Scalar& number) {
  return number.isUnsigned() ? static_cast<std::int64_t>(number.toUInt64()) : number.toLong();
}

/// Python numbers arrive as one of the first three; counts of steps are float32.
c10::Scalar read_number(const at::Tensor& tensor) {
  if (tensor.is_neg()) return tensor.item();  // the number is the other one of what is stored
  switch (tensor.scalar_type()) {
    case c10::kFloat: return *tensor.const_data_ptr<float>();
    case c10::kDouble: return *tensor.const_data_ptr<double>();
    case c10::kLong: return *tensor.const_data_ptr<std::int64_t>();
    case c10::kBool: return *tensor.const_data_ptr<bool>();
    default: return tensor.item();
  }
}

Operand::Operand(const at::Tensor& tensor)
    : tensor_(&tensor), device_tensor_(tensor.is_privateuseone()) {
  if (device_tensor_) return;
  TORCH_CHECK(tensor.is_cpu() && tensor.dim() == 0,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              c10::DeviceType::PrivateUse1, ":0 and ", tensor.device(), "!");
  number_ = read_number(tensor);
}

c10::ScalarType common_type(kernels::TypeRule rule, Operands operands) {
  if (rule == kernels::TypeRule::OfFirst && operands.front().promoting() != nullptr)
    return operands.front().promoting()->scalar_type();
  at::native::ResultTypeState state;
  for (const Operand& operand : operands) {
    if (operand.promoting() != nullptr)
      state = at::native::update_result_type_state(*operand.promoting(), state);
    else if (rule != kernels::TypeRule::PromoteTensors && operand.promotes())
      state = at::native::update_result_type_state(operand.number(), state);
  }
  return at::native::result_type(state);
}

void check_representable(const c10::Scalar& value, DType type) {
  switch (type) {
    case DType::Bool: return;
    case DType::U8: (void)value.toByte(); return;
    case DType::I8: (void)value.toChar(); return;
    case DType::I16: (void)value.toShort(); return;
    case DType::I32: (void)value.toInt(); return;
    case DType::I64: (void)value.toLong(); return;
    case DType::F16: (void)value.toHalf(); return;
    case DType::BF16: (void)value.toBFloat16(); return;
    case DType::F32: (void)value.toFloat(); return;
    case DType::F64: (void)value.toDouble(); return;
  }
}

std::optional<Types> types_of(kernels::TypeRule rule, c10::ScalarType common) {
  using kernels::TypeRule;
  if (rule == TypeRule::PromoteToFloat && c10::isIntegralType(common, /*includeBool=*/true))
    common = c10::get_default_dtype_as_scalartype();
  const std::optional<DType> compute = native_type(common);
  if (!compute) return std::nullopt;
  const bool to_bool = rule == TypeRule::Compare || rule == TypeRule::ToBool;
  return Types{*compute, to_bool ? DType::Bool : *compute, common, to_bool ? c10::kBool : common};
}

}  // namespace spyre::engine
