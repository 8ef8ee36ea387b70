// spyre/engine/schema_library.h — library operations that need no code of their own: PyTorch's schema says it all.
//
// One boxed adapter serves every row: it splits the arguments into tensors and the rest, finds the results' geometry
// with PyTorch's own rules (remembered by arguments and geometry), records one library operation, and at run
// time calls the CPU kernel over device memory. A row only states what a schema cannot.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/CPUFallback.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace spyre::engine {

/// Replaces a call on meta tensors by its results, in C++.
using ShapeRule = void (*)(const c10::OperatorHandle& op, torch::jit::Stack& stack);
/// How many elements the data select: waits for them. Raises CPU's errors for data that select nothing valid.
using CountRule = std::int64_t (*)(c10::ArrayRef<c10::IValue> arguments);
/// True if CPU has to serve these arguments.
using HostRule = bool (*)(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

/// One operator of the library tier, with its in-place and out forms.
struct SchemaLibraryRow {
  std::string_view aten;  // functional overload: "gather", "index.Tensor"
  /// Along dimension 0 the work is independent, for operands of this rank (0: never split). The pieces depend on
  /// the shapes alone.
  std::uint8_t batch_rank = 0;
  bool faults = false;       // checks indices at run time: runs even if nobody reads the result
  bool takes_masks = false;  // among index tensors: they become the places of their ones
  /// If data decide how many elements the result has along dimension 0.
  CountRule count = nullptr;
  HostRule on_host = nullptr;
  /// Of the functional form. PyTorch has such a rule for many operators, but its dispatcher prefers one in Python, whose
  /// first call imports hundreds of modules: seconds, once a process.
  ShapeRule shapes = nullptr;
};

std::span<const SchemaLibraryRow> schema_library_rows();

/// For an operator with a kernel that meets types which the device has no form of (complex numbers, wide unsigned
/// integers): the call is recorded as if there were a row for it. Anything else goes to the host, which also raises
/// CPU's errors.
void record_or_fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// The same for operators that go element by element.
void record_elements_or_fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// as_library<ATEN_OP(mm)>::call(self, mat2)
template <class Op> using as_library = at::native::call_fallback_fn<&record_or_fall_back, Op>;
template <class Op>
using elements_as_library = at::native::call_fallback_fn<&record_elements_or_fall_back, Op>;

}  // namespace spyre::engine
