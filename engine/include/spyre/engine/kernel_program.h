// spyre/engine/kernel_program.h — a compiled kernel: the operations that one call records, prepared once.
//
// torch.compile hands programs over; what eager code records op by op, a program records in one call.
// From the trace on there is no difference: the same passes, plans, kernels and card.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/base/mutex.h"
#include "spyre/engine/number_formulas.h"
#include "spyre/engine/recorder.h"
#include "spyre/lazy/device.h"

namespace spyre::engine {

/// Index of an integer in a program's table: extents, strides, offsets. Some are constants, the
/// first few come with every call.
using TableIndex = std::uint32_t;
using TableIndices = std::vector<TableIndex>;

/// A strided window of an argument or of a temporary. Strides and offset in elements, by the
/// dimensions of the step.
struct ProgramView {
  std::uint32_t buffer = 0;  // arguments first, then temporaries
  DType dtype{};
  TableIndex offset = 0;
  TableIndices strides;
};

struct ProgramInput {
  enum class Kind : std::uint8_t {
    View,
    Number,        // a constant
    HostArgument,  // the value of an argument that is a number on the host
    CallNumber,    // one of the numbers that come with every call
    Formula,       // a number that a call computes
    Iota,          // view.offset + sum of coordinate * view.strides, an int64
  };
  Kind kind{};
  ProgramView
      view;  // HostArgument: its buffer is the argument; CallNumber, Formula: the number's place
  c10::Scalar number;
};

/// One operation: pointwise, or a reduction of its only input.
struct ProgramStep {
  std::optional<kernels::Reduction> reduction;
  OpId op{};  // of a pointwise one
  DType compute{}, result{};
  bool may_fault = false;
  TableIndices sizes;         // iteration space
  std::uint32_t reduced = 0;  // bit set of its dimensions
  std::vector<ProgramInput> inputs;
  ProgramView output;
};

/// What one step leaves for later ones: dense, never seen outside.
struct ProgramTemporary {
  DType dtype{};
  TableIndices sizes;
};

struct ProgramText {
  std::string name;
  std::vector<bool> arguments;      // true: a tensor on the device; false: a number on the host
  std::vector<std::int64_t> table;  // the first `given` are placeholders
  std::size_t given = 0;
  std::size_t numbers = 0;  // that come with every call
  std::vector<NumberFormula> formulas;
  std::vector<ProgramTemporary> temporaries;
  std::vector<ProgramStep> steps;
};

/// A program in the form in which it is recorded again and again. Internally synchronized.
class KernelProgram {
 public:
  /// Raises InvalidArgument for indices that lead nowhere.
  explicit KernelProgram(ProgramText text);
  ~KernelProgram();
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;

  const std::string& name() const { return text_.name; }
  /// How many integers of the table come with a call; numbers follow them.
  std::size_t given() const { return text_.given; }

  /// Records all steps on the current stream of the arguments' device. `given`: the call's own
  /// integers of the table.
  void launch(std::span<const at::Tensor> arguments, std::span<const std::int64_t> given,
              std::span<const c10::Scalar> numbers);

 private:
  struct Bound;  // a step with its extents filled in
  struct Given;
  class Call;

  void check() const;
  Bound bound(const ProgramStep& step) const;
  void bind(std::span<const std::int64_t> given) SPYRE_REQUIRES(mutex_);
  void mark_first_writers() SPYRE_REQUIRES(mutex_);
  void mark_last_users() SPYRE_REQUIRES(mutex_);
  Dims resolve(const TableIndices& indices) const;

  Mutex mutex_;
  ProgramText text_;
  bool may_fault_ = false, reads_host_ = false;
  NumberFormulas formulas_ SPYRE_GUARDED_BY(mutex_);
  std::vector<Bound> bound_ SPYRE_GUARDED_BY(mutex_);
  std::vector<Bytes> temporary_bytes_ SPYRE_GUARDED_BY(mutex_);
  bool is_bound_ SPYRE_GUARDED_BY(mutex_) = false;
};

}  // namespace spyre::engine
