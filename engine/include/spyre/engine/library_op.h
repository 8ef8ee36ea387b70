// spyre/engine/library_op.h — libtorch's CPU kernels, recorded lazily and run on the card.
//
// A library operation is a small struct of its non-tensor arguments:
//   std::string_view name() const;                       static storage
//   void describe(KeyWriter& key) const;                 every argument that changes the call
//   std::int64_t work_items() const;                     independent pieces, by shape alone (law 2)
//   kernels::LibraryCost cost() const;
//   bool may_fault() const;                              optional: checks data at run time (indices)
//   void run(Tensors operands, std::int64_t first, std::int64_t last) const;
// run() sees CPU tensors over device memory, inputs first, and writes the outputs.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/FunctionRef.h>

#include <concepts>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "spyre/kernels/library.h"
#include "spyre/lazy/record.h"

namespace spyre::engine {

using Tensors = std::span<at::Tensor>;

/// Canonical bytes of a call's arguments. Confined to one call.
class KeyWriter {
 public:
  template <class... Values> void operator()(const Values&... values) { (write(values), ...); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <class Value>
    requires std::is_arithmetic_v<Value> || std::is_enum_v<Value>
  void write(Value value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void write(std::string_view text) {
    write(text.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  template <class Value> void write(c10::ArrayRef<Value> values) {
    write(values.size());
    for (const Value value : values) write(value);
  }
  template <class Value> void write(const std::optional<Value>& value) {
    write(value.has_value());
    if (value) write(*value);
  }

  std::vector<std::byte> bytes_;
};

template <class Op>
concept LibraryOperation = requires(const Op& op, KeyWriter& key, Tensors operands) {
  { op.name() } -> std::same_as<std::string_view>;
  op.describe(key);
  { op.work_items() } -> std::same_as<std::int64_t>;
  { op.cost() } -> std::same_as<kernels::LibraryCost>;
  op.run(operands, std::int64_t{}, std::int64_t{});
};

/// Calls `body` with CPU tensors over device memory, in a HostKernelScope. PyTorch's errors leave
/// it as ours.
void with_host_tensors(std::span<const kernels::DeviceView> views,
                       c10::function_ref<void(Tensors)> body);

/// The plan's form of a library operation. Immutable.
template <LibraryOperation Op> class LibraryOpCall final : public kernels::LibraryCall {
 public:
  explicit LibraryOpCall(Op op) : op_(std::move(op)) {}
  std::string_view name() const override { return op_.name(); }
  std::int64_t work_items() const override { return op_.work_items(); }
  kernels::LibraryCost cost() const override { return op_.cost(); }
  void run(std::span<const kernels::DeviceView> operands, std::int64_t first, std::int64_t last,
           std::span<std::byte> /*scratch*/) const override {
    with_host_tensors(operands, [&](Tensors tensors) { op_.run(tensors, first, last); });
  }

 private:
  Op op_;
};

/// True if what `op` does depends on data that it refuses: it then runs even if nobody reads its
/// result, and the Python line is kept.
template <LibraryOperation Op> bool may_fault(const Op& op) {
  if constexpr (requires { op.may_fault(); }) return op.may_fault();
  return false;
}

using TensorArguments = std::span<const at::Tensor* const>;

/// The untyped half of record_library().
void record_library_call(lazy::Library call, TensorArguments inputs, TensorArguments outputs);

/// Records `op` on the current stream. An operand that is changed in place stands among inputs and
/// outputs.
template <LibraryOperation Op>
void record_library(const Op& op, TensorArguments inputs, TensorArguments outputs) {
  KeyWriter key;
  op.describe(key);
  lazy::Library call;
  call.name = op.name();
  call.key = key.bytes();
  call.make = [](const void* context) -> std::shared_ptr<const kernels::LibraryCall> {
    return std::make_shared<LibraryOpCall<Op>>(*static_cast<const Op*>(context));
  };
  call.context = &op;
  call.may_fault = may_fault(op);
  record_library_call(call, inputs, outputs);
}
template <LibraryOperation Op>
void record_library(const Op& op, std::initializer_list<const at::Tensor*> inputs,
                    std::initializer_list<const at::Tensor*> outputs) {
  record_library(op, TensorArguments(inputs.begin(), inputs.size()),
                 TensorArguments(outputs.begin(), outputs.size()));
}

/// One element of an operand list that may be absent.
inline const at::Tensor* if_defined(const std::optional<at::Tensor>& tensor) {
  return tensor && tensor->defined() ? &*tensor : nullptr;
}

/// Equal pieces of `extent`, at most `limit` of them, each a multiple of `grain` (but the last).
/// One piece if `extent` is 0.
struct Panels {
  std::int64_t extent = 0, size = 0;
  static Panels of(std::int64_t extent, std::int64_t limit, std::int64_t grain);
  /// Pieces of dimension 0 for an operation that runs along `dim` of a tensor of `sizes`; one piece
  /// if it is small.
  static Panels beside(std::int64_t dim, c10::IntArrayRef sizes);
  std::int64_t count() const { return extent == 0 ? 1 : (extent + size - 1) / size; }
  /// The piece's part of `tensor` along `dim`.
  at::Tensor slice(const at::Tensor& tensor, std::int64_t dim, std::int64_t piece) const;
};

}  // namespace spyre::engine
