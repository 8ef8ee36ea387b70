// spyre/engine/call_key.h — what the shape and type rules look at in a call, as words that can be compared.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Scalar.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace spyre::engine {

/// One argument of a pointwise operator as it arrives. Borrows it.
struct Argument {
  enum class Kind : std::uint8_t { Tensor, Number, None, Text, Other };

  Argument(const at::Tensor& t)  // NOLINT(google-explicit-constructor)
      : kind(t.defined() ? Kind::Tensor : Kind::None), tensor(&t) {}
  Argument(const c10::Scalar& n)  // NOLINT(google-explicit-constructor)
      : kind(Kind::Number), number(&n) {}
  Argument(const std::optional<c10::Scalar>& n)  // NOLINT(google-explicit-constructor)
      : kind(n ? Kind::Number : Kind::None), number(n ? &*n : nullptr) {}
  Argument(std::string_view t)
      : kind(Kind::Text), text(t) {}  // NOLINT(google-explicit-constructor)
  explicit Argument(Kind k) : kind(k) {}

  bool on_device() const { return kind == Kind::Tensor && tensor->is_privateuseone(); }
  /// Of one that is not on the device; nothing is not a number.
  c10::Scalar value() const;

  Kind kind;
  const at::Tensor* tensor = nullptr;  // Tensor: on the device, or a 0-dimensional one on CPU
  const c10::Scalar* number = nullptr;
  std::string_view text;
};

using Arguments = std::span<const Argument>;

/// The arguments of a boxed call, which it borrows. Confined to the call.
class BoxedArguments {
 public:
  explicit BoxedArguments(std::span<const c10::IValue> values);
  BoxedArguments(const BoxedArguments&) = delete;
  BoxedArguments& operator=(const BoxedArguments&) = delete;
  Arguments get() const { return {arguments_.data(), arguments_.size()}; }

 private:
  c10::SmallVector<c10::Scalar, 8> numbers_;
  c10::SmallVector<Argument, 8> arguments_;
};

/// Types, extents and strides of a call's arguments, who is called, and how the values of its numbers and texts choose
/// between the callee's rows: two calls with equal keys get equal answers from the rules, but for NumberRules. Not in
/// it: storage offsets, buffers, the values of numbers. A value.
class CallKey {
 public:
  /// No key: equal to none.
  CallKey() = default;
  /// `callee` is the address of something that only one operator's one form has. No key if some argument is beyond what
  /// a key can say, which the rules may still allow.
  CallKey(const void* callee, std::uint64_t selection, Arguments arguments);

  bool valid() const { return count_ != 0; }
  std::span<const std::uint64_t> words() const { return {words_.data(), count_}; }
  /// Its high bits depend on all words.
  std::uint64_t hash() const { return hash_; }

 private:
  static constexpr std::size_t kMaxWords = 48;
  std::array<std::uint64_t, kMaxWords> words_;  // NOLINT: the first count_ are set
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace spyre::engine
