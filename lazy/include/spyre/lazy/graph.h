// spyre/lazy/graph.h — a finished trace as the compiler sees it: nodes in recorded order.
//
// Nodes keep their number through all passes (a dead one is marked, not erased), so a plan can be
// read against its trace. Everything here is decided by the trace's key: no addresses and no scalar
// values.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/base/dtype.h"
#include "spyre/base/ids.h"
#include "spyre/kernels/library.h"
#include "spyre/kernels/numerics.h"
#include "spyre/kernels/op.h"

namespace spyre::lazy {

/// What a node reads or writes.
struct Operand {
  enum class Kind : std::uint8_t { View, Scalar, Iota };
  Kind kind{};
  DType dtype{};                  // Iota: I64; unused by library nodes
  std::uint8_t element_size = 0;  // View
  std::uint32_t index = 0;  // View: buffer; Scalar, Iota: parameter slot (Iota: of its first value)
  std::int64_t offset = 0;  // View: elements
  Dims strides{};           // View: elements, Iota: units; one per dimension of the node's sizes

  static Operand view(std::uint32_t buffer, DType dtype, std::int64_t offset, const Dims& strides) {
    return {Kind::View, dtype, size_of(dtype), buffer, offset, strides};
  }
  static Operand scalar(std::uint32_t slot, DType dtype) {
    return {Kind::Scalar, dtype, 0, slot, 0, {}};
  }
  static Operand iota(std::uint32_t slot, const Dims& strides) {
    return {Kind::Iota, DType::I64, 0, slot, 0, strides};
  }
  bool is_view() const { return kind == Kind::View; }
};

/// One recorded operation.
struct Node {
  enum class Kind : std::uint8_t {
    Pointwise,  // op, at every point of `sizes`
    Row,        // reduction over trailing dimensions that merge into one stride
    Column,     // reduction over one run of dimensions, with kept ones behind it
    Library,    // opaque
  };
  Kind kind{};
  DType compute{}, result{};
  kernels::Reduction reduction{};
  OpId op{};
  bool dead = false;
  bool may_fault = false;  // has the effect of a fault besides its outputs
  std::uint16_t input_count = 0, output_count = 0;
  std::uint32_t first_operand =
      0;                      // in Graph::operands: inputs, then outputs (one, unless Library)
  std::uint32_t reduced = 0;  // Row, Column: bit per dimension of `sizes`
  std::uint32_t source = 0;   // interned Python line
  Dims sizes{};               // the iteration shape, every extent >= 1 (Library: unused)
  kernels::RowSpace rows{};   // Library: computed one by one; no batches: not so
  Bytes row_scratch{};        // Library: what that takes of a scratchpad
  Bytes batch_bytes{};        // Library: what rows of one batch share there

  bool is_reduction() const { return kind == Kind::Row || kind == Kind::Column; }
};

/// What is known of a buffer at the two ends of the trace.
struct BufferFacts {
  std::uint64_t bytes = 0;
  bool observable = false;      // someone can read it after the trace
  bool written_before = false;  // holds data before the trace
  std::uint16_t directive = 0;  // how it is to be placed, in the device's numbers

  // Offsets count from the buffer's base (see BufferUse), which is its begin unless it held data:
  // between these they lie.
  std::int64_t lowest() const { return written_before ? -highest() : 0; }
  std::int64_t highest() const { return static_cast<std::int64_t>(bytes); }
};

/// Plain value; confined to the compiling thread.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Operand> operands;
  /// The extents of library operands, which have their own. Parallel to `operands`, up to the last
  /// library node.
  std::vector<Dims> library_sizes;
  std::vector<BufferFacts> buffers;
  std::uint32_t params = 0;  // number of parameter slots
  kernels::Numerics numerics{};

  std::span<const Operand> inputs(const Node& n) const {
    return {&operands[n.first_operand], n.input_count};
  }
  std::span<Operand> inputs(const Node& n) { return {&operands[n.first_operand], n.input_count}; }
  std::span<const Operand> outputs(const Node& n) const {
    return {operands.data() + n.first_operand + n.input_count, n.output_count};
  }
  const Operand& output(const Node& n) const { return operands[n.first_operand + n.input_count]; }
  std::span<const Operand> all_operands(const Node& n) const {
    return {operands.data() + n.first_operand, std::size_t{n.input_count} + n.output_count};
  }

  // The trace is turned into a graph with these, in recorded order. Node numbers are positions in
  // `nodes`. Nodes without points (an extent of 0) are not added: they do nothing. An empty
  // reduction arrives as a fill.
  std::uint32_t add_buffer(const BufferFacts& facts);
  std::uint32_t add_pointwise(OpId op, DType compute, DType result, const Dims& sizes,
                              std::span<const Operand> node_inputs, const Operand& output,
                              std::uint32_t source = 0);
  /// `kind` is Row or Column; `output.strides` has 0 at reduced dimensions.
  std::uint32_t add_reduction(Node::Kind kind, kernels::Reduction reduction, DType compute,
                              DType result, const Dims& sizes, std::uint32_t reduced,
                              const Operand& input, const Operand& output,
                              std::uint32_t source = 0);
  struct LibraryWindow {
    std::uint32_t buffer = 0;
    std::uint8_t element_size = 0;
    std::int64_t offset = 0;  // elements
    Dims sizes, strides;
  };
  std::uint32_t add_library(std::span<const LibraryWindow> windows_in,
                            std::span<const LibraryWindow> windows_out, std::uint32_t source = 0);

 private:
  std::uint32_t append(Node node, std::span<const Operand> node_inputs,
                       std::span<const Operand> node_outputs);
};

}  // namespace spyre::lazy
