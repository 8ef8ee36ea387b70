// spyre/engine/schema_arguments.cpp — a boxed call taken apart: its tensors, and canonical bytes of everything else.
#include "schema_arguments.h"

#include <ATen/Functions.h>

#include <optional>
#include <type_traits>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::engine {
namespace {

/// Each kind of value has its own tag, so that no two different calls have equal bytes.
enum class Tag : char {
  None,
  Int,
  UInt,
  Double,
  Bool,
  Complex,
  String,
  List,
  TensorSlot,
  NumberSlot,
  NoTensor,
  Device
};

class Bytes {
 public:
  explicit Bytes(std::string& out) : out_(out) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(Tag tag, const T& value) {
    out_ += static_cast<char>(tag);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(Tag tag) { out_ += static_cast<char>(tag); }
  void put(std::string_view text) {
    put(Tag::String, text.size());
    out_ += text;
  }

 private:
  std::string& out_;
};

void put_plain(Bytes& bytes, const c10::IValue& value);

void put_list(Bytes& bytes, const c10::IValue& list) {
  const auto elements = list.toListRef();
  bytes.put(Tag::List, elements.size());
  for (const c10::IValue& element : elements) put_plain(bytes, element);
}

void put_plain(Bytes& bytes, const c10::IValue& value) {
  if (value.isNone()) return bytes.put(Tag::None);
  if (value.isInt()) return bytes.put(Tag::Int, value.toInt());
  if (value.isUnsigned()) return bytes.put(Tag::UInt, value.toUInt());
  if (value.isDouble()) return bytes.put(Tag::Double, value.toDouble());
  if (value.isBool()) return bytes.put(Tag::Bool, value.toBool());
  if (value.isComplexDouble()) return bytes.put(Tag::Complex, value.toComplexDouble());
  if (value.isString()) return bytes.put(value.toStringRef());
  if (value.isDevice()) return bytes.put(Tag::Device, value.toDevice().type());
  if (value.isList()) return put_list(bytes, value);
  throw Unsupported(str("library operation: no canonical form of a ", value.tagKind()));
}

std::optional<c10::Device> device_among(const torch::jit::Stack& stack, std::size_t first) {
  std::optional<c10::Device> found;
  const auto look = [&](const at::Tensor& t) {
    if (!found && t.defined() && t.is_privateuseone()) found = t.device();
  };
  for (std::size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor()) look(stack[i].toTensor());
    if (!stack[i].isList()) continue;
    for (const c10::IValue& element : stack[i].toListRef())
      if (element.isTensor()) look(element.toTensor());
  }
  return found;
}

at::Tensor on_device(const at::Tensor& tensor, c10::Device device) {
  if (tensor.device() == device) return tensor;
  if (tensor.is_cpu() && tensor.dim() == 0) return tensor.to(device);
  TORCH_CHECK(false,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              device, " and ", tensor.device(), "!");
}

bool holds_tensors(const c10::IValue& value) {
  if (value.isTensorList() || value.isOptionalTensorList()) return true;
  if (!value.isList()) return false;
  for (const c10::IValue& element : value.toListRef())
    if (element.isTensor()) return true;
  return false;
}

}  // namespace

SchemaArguments SchemaArguments::take_apart(const c10::OperatorHandle& op,
                                            const torch::jit::Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  const std::size_t first = stack.size() - count;
  const auto device = device_among(stack, first);
  if (!device) throw Unsupported(str(op.operator_name().name, ": no argument is on the device"));
  SchemaArguments call;
  for (std::size_t i = 0; i < count; ++i) call.add(stack[first + i], i, *device);
  return call;
}

void SchemaArguments::add(const c10::IValue& value, std::size_t argument, c10::Device device) {
  Bytes bytes(key_);
  const auto position = static_cast<std::uint16_t>(argument);
  values_.push_back(value);
  if (value.isTensor()) {
    add_tensor(value.toTensor(), {position, -1}, device);
  } else if (holds_tensors(value)) {
    const auto elements = value.toListRef();
    bytes.put(Tag::List, elements.size());
    for (std::size_t e = 0; e < elements.size(); ++e) {
      at::Tensor tensor = elements[e].isTensor() ? elements[e].toTensor() : at::Tensor();
      // Lists of optional tensors are indices: they may lie on the CPU, as on CUDA.
      if (value.isOptionalTensorList() && tensor.defined() && tensor.is_cpu())
        tensor = tensor.to(device);
      add_tensor(tensor, {position, static_cast<std::int16_t>(e)}, device);
    }
  } else {
    put_plain(bytes, value);
  }
}

void SchemaArguments::add_tensor(const at::Tensor& tensor, TensorSlot slot, c10::Device device) {
  Bytes bytes(key_);
  if (!tensor.defined()) return bytes.put(Tag::NoTensor);
  slot.wraps_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  bytes.put(slot.wraps_number ? Tag::NumberSlot : Tag::TensorSlot);
  tensors_.push_back(on_device(tensor, device));
  slots_.push_back(slot);
}

torch::jit::Stack SchemaArguments::with_tensors(std::span<const at::Tensor> replacements) const {
  torch::jit::Stack stack = values_;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const TensorSlot slot = slots_[i];
    if (slot.wraps_number && replacements[i].defined())
      replacements[i].unsafeGetTensorImpl()->set_wrapped_number(true);
    if (slot.element < 0) {
      stack[slot.argument] = replacements[i];
      continue;
    }
    // Lists are shared by IValue: each is rebuilt at its first element.
    if (i == 0 || slots_[i - 1].argument != slot.argument) {
      const c10::IValue& original = values_[slot.argument];
      c10::impl::GenericList list(original.toList().elementType());
      for (const c10::IValue& element : original.toListRef()) list.push_back(element);
      stack[slot.argument] = list;
    }
    stack[slot.argument].toList().set(static_cast<std::size_t>(slot.element), replacements[i]);
  }
  return stack;
}

SchemaArguments SchemaArguments::without_tensors() const {
  SchemaArguments call = *this;
  const std::vector<at::Tensor> nothing(tensors_.size());
  call.values_ = with_tensors(nothing);
  call.tensors_.clear();
  return call;
}

}  // namespace spyre::engine
