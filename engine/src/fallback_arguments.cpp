// spyre/engine/fallback_arguments.cpp — what a CPU kernel gets for each kind of argument.
#include "fallback_arguments.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "spyre/engine/generator.h"
#include "spyre/engine/guard.h"
#include "stack_tensors.h"

namespace spyre::engine {
namespace {

using torch::jit::Stack;

/// Arguments that live on the CPU beside device tensors, and results that stay there, as on CUDA.
struct OnHost {
  std::string_view op, name;
};
constexpr std::array kHostArguments{
    OnHost{"aten::index", "indices"},
    OnHost{"aten::_unsafe_index", "indices"},
    OnHost{"aten::index_put_", "indices"},
    OnHost{"aten::_index_put_impl_", "indices"},
    OnHost{"aten::_unsafe_index_put", "indices"},
    OnHost{"aten::_pack_padded_sequence", "lengths"},
    OnHost{"aten::_pack_padded_sequence_backward", "batch_sizes"},
};
struct HostResult {
  std::string_view op;
  std::size_t position;
};
constexpr std::array kHostResults{HostResult{"aten::_pack_padded_sequence", 1}};

bool may_stay_on_host(const c10::FunctionSchema& schema, std::size_t argument) {
  return std::ranges::any_of(kHostArguments, [&](const OnHost& row) {
    return row.op == schema.name() && row.name == schema.arguments()[argument].name();
  });
}

[[noreturn]] void refuse_two_devices(c10::Device first, c10::Device second,
                                     const c10::FunctionSchema& schema) {
  TORCH_CHECK(
      false, "Expected all tensors to be on the same device, but found at least two devices, ",
      first, " and ", second, "! (when checking arguments of ", schema.operator_name(), ")");
}

void check_devices(const c10::FunctionSchema& schema, const Stack& stack, c10::Device device) {
  const auto arguments = torch::jit::last(stack, schema.arguments().size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (!tensor.defined() || tensor.device() == device) return;
      const auto* alias_info = schema.arguments()[i].alias_info();
      const bool written = alias_info != nullptr && alias_info->isWrite();
      if (tensor.is_cpu() && !written && (tensor.dim() == 0 || may_stay_on_host(schema, i))) return;
      refuse_two_devices(device, tensor.device(), schema);
    });
  }
}

bool is_generator(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
  }
  return type->kind() == c10::TypeKind::GeneratorType;
}

/// A CPU generator whose numbers follow from the device generator's state, which moves on.
at::Generator host_generator(const c10::IValue& given, c10::Device device) {
  const std::optional<at::Generator> own =
      given.isNone() ? std::nullopt : std::optional<at::Generator>(given.toGenerator());
  const PhiloxState state = reserve(own, device, 1);
  std::uint64_t mixed = state.seed + (state.offset + 1) * 0x9e3779b97f4a7c15ULL;  // splitmix64
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return at::detail::createCPUGenerator(mixed ^ (mixed >> 31));
}

bool is_spyre(c10::Device device) { return device.type() == c10::DeviceType::PrivateUse1; }

}  // namespace

c10::Device device_of_call(const c10::OperatorHandle& op, const Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  std::optional<c10::Device> by_tensor, by_argument;
  for (const c10::IValue& value : torch::jit::last(stack, schema.arguments().size())) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!by_tensor.has_value() && tensor.defined() && is_spyre(tensor.device()))
        by_tensor = tensor.device();
    });
    if (value.isDevice() && is_spyre(value.toDevice())) by_argument = value.toDevice();
  }
  const c10::Device here(c10::DeviceType::PrivateUse1, current_device());
  const c10::Device device = by_tensor.value_or(by_argument.value_or(here));
  if (by_tensor.has_value()) check_devices(schema, stack, *by_tensor);
  return device.has_index() ? device : here;
}

std::vector<at::Tensor> tensors_written(const c10::OperatorHandle& op, const Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  std::vector<at::Tensor> written;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias_info = arguments[i].alias_info();
    if (alias_info == nullptr || !alias_info->isWrite()) continue;
    for_each_tensor(values[i], [&](const at::Tensor& tensor) {
      if (tensor.defined() && is_spyre(tensor.device())) written.push_back(tensor);
    });
  }
  return written;
}

void arguments_to_host(const c10::OperatorHandle& op, Stack& stack, c10::Device device,
                       HostViews& views) {
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack.size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = stack[first + i];
    if (is_generator(arguments[i])) {
      value = host_generator(value, device);
    } else if (value.isDevice() && is_spyre(value.toDevice())) {
      value = c10::Device(c10::DeviceType::CPU);
    } else {
      value = with_tensors(value, [&](const at::Tensor& tensor) {
        return tensor.defined() && is_spyre(tensor.device()) ? views.view(tensor) : tensor;
      });
    }
  }
}

void results_to_device(const c10::OperatorHandle& op, Stack& stack, c10::Device device,
                       HostViews& views) {
  const c10::FunctionSchema& schema = op.schema();
  const std::size_t count = schema.returns().size(), first = stack.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    const bool stays = std::ranges::any_of(kHostResults, [&](const HostResult& row) {
      return row.op == schema.name() && row.position == i;
    });
    if (stays) continue;
    c10::IValue& value = stack[first + i];
    value = with_tensors(
        value, [&](const at::Tensor& tensor) { return views.device_side(tensor, device); });
  }
}

}  // namespace spyre::engine
