// spyre/engine/call_key.cpp — one header word per argument, then its sizes and strides.
#include "spyre/engine/call_key.h"

#include <c10/core/DefaultDtype.h>

#include <limits>

#include "spyre/engine/operand.h"

namespace spyre::engine {
namespace {

enum class Header : std::uint64_t { DeviceTensor = 1, HostNumber, Number, None, Text, Other };

constexpr std::uint64_t header(Header kind, c10::ScalarType type = c10::ScalarType::Byte) {
  return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(type) << 8;
}

/// Writes a key's words and their hash, both of which it keeps in registers. Confined to one call.
class Writer {
 public:
  explicit Writer(std::span<std::uint64_t> room) : at_(room.data()), end_(at_ + room.size()) {}

  bool has_room(std::size_t words) const { return static_cast<std::size_t>(end_ - at_) >= words; }
  /// Precondition: there is room.
  void put(std::uint64_t word) {
    constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15;
    *at_++ = word;
    hash_ = (hash_ ^ word) * kMultiplier;
  }
  bool add(const Argument& argument);
  std::uint64_t hash() const { return hash_; }
  const std::uint64_t* end() const { return at_; }

 private:
  bool add(const at::Tensor& tensor);

  std::uint64_t* at_;
  const std::uint64_t* end_;
  std::uint64_t hash_ = 0;
};

inline bool Writer::add(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const std::uint64_t wrapped = std::uint64_t{impl.is_wrapped_number()} << 16;
  if (!impl.key_set().has_backend(c10::BackendComponent::PrivateUse1Bit)) {
    if (!tensor.is_cpu() || tensor.dim() != 0) return false;
    put(header(Header::HostNumber, tensor.scalar_type()) | wrapped);
    return true;
  }
  const c10::IntArrayRef sizes = impl.sizes(), strides = impl.strides();
  const std::size_t rank = sizes.size();
  if (!has_room(1 + 2 * rank)) return false;
  const auto device = static_cast<std::uint8_t>(impl.device().index());
  put(header(Header::DeviceTensor, tensor.scalar_type()) | wrapped | std::uint64_t{device} << 24 |
      std::uint64_t{rank} << 32);
  for (std::size_t i = 0; i < rank; ++i) {
    put(static_cast<std::uint64_t>(sizes[i]));
    put(static_cast<std::uint64_t>(strides[i]));
  }
  return true;
}

inline bool Writer::add(const Argument& argument) {
  if (!has_room(1)) return false;
  switch (argument.kind) {
    case Argument::Kind::Tensor: return add(*argument.tensor);
    case Argument::Kind::Number:
      if (argument.number->isSymbolic()) return false;
      put(header(Header::Number, argument.number->type()));
      return true;
    case Argument::Kind::None: put(header(Header::None)); return true;
    case Argument::Kind::Text: put(header(Header::Text)); return true;
    case Argument::Kind::Other: put(header(Header::Other)); return true;
  }
  return false;
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
  Writer writer(words_);
  writer.put(reinterpret_cast<std::uint64_t>(callee));
  // The default type is what numbers and integers may promote to.
  writer.put(selection << 8 | static_cast<std::uint64_t>(c10::get_default_dtype_as_scalartype()));
  for (const Argument& argument : arguments)
    if (!writer.add(argument)) return;
  count_ = static_cast<std::size_t>(writer.end() - words_.data());
  hash_ = writer.hash();
}

}  // namespace spyre::engine
