// spyre/engine/call_key.cpp — one header word per argument, then its sizes and strides.
#include "spyre/engine/call_key.h"

#include <c10/core/DefaultDtype.h>

#include <limits>

#include "spyre/engine/operand.h"

namespace spyre::engine {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15;

enum class Header : std::uint64_t { DeviceTensor = 1, HostNumber, Number, None, Text, Other };

constexpr std::uint64_t header(Header kind, c10::ScalarType type = c10::ScalarType::Byte) {
  return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(type) << 8;
}

}  // namespace

c10::Scalar Argument::value() const {
  if (kind == Kind::None) return std::numeric_limits<double>::quiet_NaN();
  return kind == Kind::Tensor ? read_number(*tensor) : *number;
}

BoxedArguments::BoxedArguments(std::span<const c10::IValue> values) {
  numbers_.reserve(values.size());  // the arguments point into it
  for (const c10::IValue& value : values) {
    if (value.isTensor()) arguments_.emplace_back(value.toTensor());
    else if (value.isScalar()) arguments_.emplace_back(numbers_.emplace_back(value.toScalar()));
    else if (value.isString()) arguments_.emplace_back(value.toStringView());
    else arguments_.emplace_back(value.isNone() ? Argument::Kind::None : Argument::Kind::Other);
  }
}

CallKey::CallKey(const void* callee, std::uint64_t selection, Arguments arguments) {
  // The default type is what numbers and integers may promote to.
  words_[0] = reinterpret_cast<std::uint64_t>(callee);
  words_[1] = selection << 8 | static_cast<std::uint64_t>(c10::get_default_dtype_as_scalartype());
  count_ = 2;
  hash_ = (words_[0] ^ words_[1] << 40) * kMultiplier;
  for (const Argument& argument : arguments) {
    if (add(argument)) continue;
    count_ = 0;
    return;
  }
}

bool CallKey::add(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::Tensor: return add(*argument.tensor);
    case Argument::Kind::Number:
      return !argument.number->isSymbolic() &&
             add_word(header(Header::Number, argument.number->type()));
    case Argument::Kind::None: return add_word(header(Header::None));
    case Argument::Kind::Text: return add_word(header(Header::Text));
    case Argument::Kind::Other: return add_word(header(Header::Other));
  }
  return false;
}

bool CallKey::add(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!impl.key_set().has_backend(c10::BackendComponent::PrivateUse1Bit))
    return tensor.is_cpu() && tensor.dim() == 0 &&
           add_word(header(Header::HostNumber, tensor.scalar_type()) |
                    std::uint64_t{impl.is_wrapped_number()} << 16);
  const c10::IntArrayRef sizes = impl.sizes(), strides = impl.strides();
  if (count_ + 1 + 2 * sizes.size() > kMaxWords) return false;
  add_word(header(Header::DeviceTensor, tensor.scalar_type()) |
           std::uint64_t{impl.is_wrapped_number()} << 16 |
           static_cast<std::uint64_t>(static_cast<std::uint8_t>(impl.device().index())) << 24 |
           sizes.size() << 32);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    add_word(static_cast<std::uint64_t>(sizes[i]));
    add_word(static_cast<std::uint64_t>(strides[i]));
  }
  return true;
}

bool CallKey::add_word(std::uint64_t word) {
  if (count_ == kMaxWords) return false;
  words_[count_++] = word;
  hash_ = (hash_ ^ word) * kMultiplier;
  hash_ ^= hash_ >> 29;
  return true;
}

}  // namespace spyre::engine
