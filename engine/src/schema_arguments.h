// spyre/engine/schema_arguments.h — a boxed call taken apart: its tensors, and canonical bytes of everything else.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spyre::engine {

inline bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// Where a tensor stands in a call.
struct TensorSlot {
  std::uint16_t argument = 0;
  std::int16_t element = -1;  // position in a list argument; -1: the argument itself
  bool wraps_number = false;  // a Python number as a tensor, which promotes as a number
};

/// A call without its tensors, which can be put back in. A value; immutable after take_apart().
class SchemaArguments {
 public:
  /// Takes the arguments of `op` off the top of the stack (which keeps them). CPU tensors of dimension 0 move to
  /// `device`; other tensors from elsewhere raise as PyTorch does. Throws Unsupported for arguments without canonical
  /// bytes (generators, streams).
  static SchemaArguments take_apart(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  const std::vector<TensorSlot>& slots() const { return slots_; }
  /// Canonical bytes of the arguments that are not tensors, and of where tensors stand.
  const std::string& key() const { return key_; }
  const c10::IValue& argument(std::size_t index) const { return values_[index]; }

  /// The call again, with `replacements[i]` standing for tensors()[i].
  torch::jit::Stack with_tensors(std::span<const at::Tensor> replacements) const;
  /// The call without tensors, for keeping in a plan.
  SchemaArguments without_tensors() const;

 private:
  void add(const c10::IValue& value, std::size_t argument, c10::Device device);
  void add_tensor(const at::Tensor& tensor, TensorSlot slot, c10::Device device);

  std::vector<c10::IValue> values_;
  std::vector<at::Tensor> tensors_;
  std::vector<TensorSlot> slots_;
  std::string key_;
};

}  // namespace spyre::engine
