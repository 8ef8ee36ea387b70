// spyre/lazy/record.h — how an operation is described to the trace. Plain views; nothing here is
// kept by pointer except buffers, which the trace retains.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "spyre/base/dims.h"
#include "spyre/base/dtype.h"
#include "spyre/kernels/library.h"
#include "spyre/kernels/op.h"

namespace spyre::lazy {

class Buffer;

/// A strided window of a buffer. Strides and offset in elements of `dtype`; stride 0 broadcasts.
/// The extents are the record's iteration shape.
struct View {
  Buffer* buffer = nullptr;
  DType dtype{};
  std::int64_t offset = 0;
  std::span<const std::int64_t> strides;
};

/// One input of a pointwise operation.
struct Input {
  enum class Kind : std::uint8_t { View, Scalar, Iota };
  Kind kind{};
  lazy::View view{};       // View; Iota uses view.strides (units per step)
  std::uint64_t bits = 0;  // Scalar: value's bits in type `scalar`; Iota: the first value (int64)
  DType scalar{};

  static Input of(const lazy::View& view) { return {.kind = Kind::View, .view = view}; }
  static Input of_double(double value, DType type);     // rounded to `type`
  static Input of_int(std::int64_t value, DType type);  // wrapped to `type`
  static Input iota(std::int64_t first, std::span<const std::int64_t> strides) {
    return {.kind = Kind::Iota,
            .view = {.strides = strides},
            .bits = static_cast<std::uint64_t>(first),
            .scalar = DType::I64};
  }
};

/// out[i] = round(op(convert(inputs[i]...))), for every i in `sizes`. `compute` is the body's type;
/// the value is rounded to `result` and then converted to the output view's dtype. The output must
/// not have a zero stride over an extent > 1; inputs may overlap it only if they are the same view
/// (the engine copies otherwise).
struct Pointwise {
  OpId op;
  DType compute{}, result{};
  std::span<const std::int64_t> sizes;
  std::span<const Input> inputs;
  View output;
  std::uint32_t source = 0;  // interned Python line, 0: unknown
  bool may_fault = false;    // runs even if nobody reads its result, and in a kernel of its own
};

/// output = reduction of `input` over the dimensions whose bit in `reduced` is set.
/// `output.strides` has one entry per dimension of `sizes`, 0 where reduced. Extents may be 0 (the
/// identity; Max, Min, ArgMax, ArgMin: the engine has raised before). ArgMax and ArgMin: one
/// reduced dimension, output I64, NaN wins, first of equals.
struct Reduce {
  kernels::Reduction reduction{};
  DType compute{};  // input is converted to this first; Sum, Prod accumulate in f64 / i64
  DType result{};
  std::span<const std::int64_t> sizes;
  std::uint32_t reduced = 0;
  View input, output;
  std::uint32_t source = 0;
};

/// A tensor operand of a library operation: its own extents.
struct LibraryOperand {
  Buffer* buffer = nullptr;
  std::uint8_t element_size = 0, type_code = 0;
  std::int64_t offset = 0;  // elements
  std::span<const std::int64_t> sizes, strides;
};

/// Runs on the compute queue, in order. `key`: canonical bytes that, with the operands' geometry,
/// determine the call; `make` is called once per new plan.
struct Library {
  std::string_view name;  // static storage
  std::span<const std::byte> key;
  std::shared_ptr<const kernels::LibraryCall> (*make)(const void* context) = nullptr;
  const void* context = nullptr;  // valid during record(); `make` may be called then, and only then
  std::span<const LibraryOperand> inputs, outputs;  // an in-place operand stands in both
  std::uint32_t source = 0;
  bool may_fault = false;  // as in Pointwise
};

}  // namespace spyre::lazy
