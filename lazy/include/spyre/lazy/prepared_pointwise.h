// spyre/lazy/prepared_pointwise.h — a pointwise operation that is recorded again and again: described, checked
// and hashed once.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// What differs from call to call of one prepared operation, per operand.
struct PreparedOperand {
  Buffer* buffer = nullptr;  // null: a number
  std::int64_t offset = 0;   // elements
  std::uint64_t bits = 0;    // a number's value, in the type that the operation was prepared with
};

/// Types, extents and strides of a pointwise operation, and where the trace that used it last keeps
/// them, so that recording it again neither hashes nor compares them. Confined to one thread at a
/// time; one that records it holds the device's lock.
class PreparedPointwise {
 public:
  /// Takes everything of `op` except buffers, offsets and values. Inputs are views and numbers; no
  /// extent is 0.
  explicit PreparedPointwise(const Pointwise& op);

  // One call described in full again; both borrow from this, the second one from the first, too.
  std::vector<Input> described(std::span<const PreparedOperand> inputs) const;
  Pointwise described(std::span<const Input> inputs, const PreparedOperand& output,
                      std::uint32_t source) const;

  /// What a new, dense output occupies.
  Bytes output_bytes() const { return output_bytes_; }

 private:
  friend class Trace;
  /// One operand's geometry, as the trace `serial` knows it.
  struct Window {
    ElementType type;
    std::int64_t offset = 0;
    Dims strides;
    std::uint64_t hash = 0;
    std::uint64_t serial = 0;
    std::uint32_t index = 0;
  };
  bool is_number(std::size_t input) const { return numbers_ >> input & 1U; }
  View view(std::size_t operand, const PreparedOperand& value) const;

  TraceNode node_;  // without operands
  Dims sizes_;
  std::vector<Window> windows_;  // inputs, then the output
  std::uint32_t numbers_ = 0;    // bit per input
  std::uint64_t signature_ = 0;  // 0: not computed for the windows' present offsets
  Bytes output_bytes_;
};

}  // namespace spyre::lazy
