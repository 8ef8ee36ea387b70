// spyre/lazy/trace.h — what was recorded on one stream since its last flush.
//
// Everything in nodes, wide operands, geometry words and attributes is numbered within the trace,
// so these arrays are canonical: two recordings of the same program have equal bytes. Parameters
// and source lines are kept apart, since they may differ between launches of one plan.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "spyre/base/bytes.h"
#include "spyre/base/ids.h"
#include "spyre/kernels/library.h"
#include "spyre/lazy/geometry.h"
#include "spyre/lazy/record.h"

namespace spyre::lazy {

class PreparedPointwise;
struct PreparedOperand;

/// One operand of a node. `buffer` is an index in the trace's buffer table, or one of the marks
/// below.
struct TraceOperand {
  static constexpr std::uint32_t kScalar = 0xFFFF'FFFF;  // a parameter; `geometry` is its DType
  static constexpr std::uint32_t kIota = 0xFFFF'FFFE;  // a counter; its first value is a parameter
  std::uint32_t buffer = 0;
  std::uint32_t geometry = 0;
  bool is_scalar() const { return buffer == kScalar; }
  bool is_iota() const { return buffer == kIota; }
  bool is_buffer() const { return buffer < kIota; }
  friend bool operator==(const TraceOperand&, const TraceOperand&) = default;
};

/// One recorded operation. Operands are inputs first, then outputs; up to four stand in the node
/// itself. Scalars and iotas take the trace's parameters in operand order, from `first_param` on.
struct TraceNode {
  enum class Kind : std::uint8_t { Pointwise, Row, Column, Library };
  static constexpr std::size_t kInline = 4;
  Kind kind{};
  DType compute{}, result{};
  bool may_fault = false;
  std::uint16_t code = 0;  // Pointwise: OpId; Row, Column: Reduction
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
  std::uint16_t unused_too = 0;
  std::uint32_t reduced = 0;  // Row, Column: bit per dimension of the input's sizes
  std::uint32_t first_param = 0;
  std::uint32_t first_wide = 0;  // operands above kInline: all stand in the wide ones, from here
  std::uint32_t call = 0;        // Library: index in the trace's calls
  std::uint32_t attributes_end = 0;  // Library: its bytes end here, where the next call's begin
  std::array<TraceOperand, kInline> operands{};
};
static_assert(sizeof(TraceNode) == 64, "recording a node is one cache line");
/// The node of `op`, without operands and parameters.
TraceNode node_of(const Pointwise& op);

/// A buffer as one trace uses it. Its bytes count from the block where the trace first touches it,
/// if it had memory by then: a program that goes through a tensor part by part is the same at every
/// part. What lies before has negative offsets.
struct BufferUse {
  static constexpr std::uint32_t kNever = 0xFFFF'FFFF;
  static constexpr std::uint32_t kBlock = 16;  // bytes; every element size divides it
  Buffer* buffer = nullptr;                    // retained
  std::uint32_t first_write = kNever;          // by this node
  std::uint32_t first_block = 0;

  Bytes base() const { return {std::uint64_t{first_block} * kBlock}; }
  /// Of an element, from the base.
  std::int64_t relative(std::int64_t offset, std::int64_t element_size) const {
    return first_block == 0 ? offset : offset - kBlock / element_size * first_block;
  }
  std::int64_t absolute(std::int64_t offset, std::int64_t element_size) const {
    return offset + kBlock / element_size * first_block;
  }
};

/// The recording of one stream. Its arrays keep their capacity from flush to flush. Guarded by the
/// device's lock.
class Trace {
 public:
  /// A stream has two traces (see StreamState); `second` keeps their serials apart.
  explicit Trace(StreamId stream, bool second = false);
  ~Trace() { clear(); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void append(const Pointwise& op);
  /// The same operation with these buffers, offsets and values; allocates, hashes and compares
  /// nothing if it was recorded here before.
  void append(PreparedPointwise& op, std::span<const PreparedOperand> inputs,
              const PreparedOperand& output, std::uint32_t source);
  /// Precondition: the reduction is primitive, of kind Row or Column (see reduction_lowering.h).
  void append(TraceNode::Kind kind, const Reduce& op);
  void append(const Library& op, std::shared_ptr<const kernels::LibraryCall> call);

  StreamId stream() const { return stream_; }
  /// Unique on the device; changes at every clear.
  std::uint64_t serial() const { return serial_; }
  static StreamId stream_of_serial(std::uint64_t serial);
  bool empty() const { return nodes_.empty(); }
  std::span<const TraceNode> nodes() const { return nodes_; }
  std::span<const TraceOperand> operands(const TraceNode& node) const;
  std::span<const TraceOperand> inputs(const TraceNode& node) const {
    return operands(node).first(node.inputs);
  }
  std::span<const TraceOperand> outputs(const TraceNode& node) const {
    return operands(node).last(node.outputs);
  }
  std::span<const TraceOperand> wide() const { return wide_; }
  const GeometryTable& geometries() const { return geometries_; }
  std::span<const BufferUse> buffers() const { return buffers_; }
  std::span<const std::uint64_t> params() const { return params_; }
  std::span<const std::byte> attributes() const { return attributes_; }
  /// Library: the node's part of the attributes.
  std::span<const std::byte> attributes_of(std::size_t node) const;
  const std::shared_ptr<const kernels::LibraryCall>& call(const TraceNode& node) const {
    return calls_[node.call];
  }
  std::uint32_t source(std::size_t node) const { return sources_[node]; }
  /// Equal for nodes that do the same with other buffers and numbers.
  std::uint64_t signature(std::size_t node) const { return notes_[node].signature; }
  /// The last node and those before it are parts of one unit (see Recording); a node by itself is one, too.
  void join_last() { notes_.back().joined = true; }
  /// The first node of the last unit. Precondition: there is one.
  std::size_t last_unit() const;
  /// The node behind the unit that begins with this one.
  std::size_t unit_end(std::size_t first) const;
  std::span<const std::uint32_t> sources() const { return sources_; }
  bool uses(const Buffer& buffer) const;
  bool writes(const Buffer& buffer) const;
  bool writes(const BufferUse& use) const { return use.first_write < nodes_.size(); }
  /// Whether the results recorded here ask for more memory than `limit`. Those that nobody can see any more do not
  /// count: they get none, or share it with others. Once the sum of all is reached they are counted again, so half
  /// of the limit is enough then, lest that happen at every node.
  bool asks_for_more_than(Bytes limit);

  /// Moves the nodes from `first` on to the end of `tail`, a trace of the same stream. What is left
  /// may be keyed and launched, but nothing more is appended to it.
  void split_off(std::size_t first, Trace& tail);
  void swap(Trace& other) noexcept;
  /// Everything goes to `kept`, which is new; nothing more is appended to it. This one starts over.
  void move_to(Trace& kept) noexcept;

  /// Forgets everything and drops the buffers' references.
  void clear();
  /// As clear(), but what a launch still needs goes to the caller, with the references to the
  /// buffers. The caller's vectors are empty and their capacity comes back to the trace.
  void hand_over(std::vector<BufferUse>& buffers, std::vector<std::uint64_t>& params,
                 std::vector<std::uint32_t>& sources);

 private:
  /// Kept beside a node, not in the key: what it does, and how long the tables are with it.
  struct NodeNote {
    std::uint64_t signature = 0;
    std::uint32_t wide = 0, geometries = 0, buffers = 0, params = 0, attributes = 0, calls = 0;
    bool joined = false;  // to the unit of the node before it
  };
  /// `first_byte`: of the operand; the buffer's base is there if it is new to the trace.
  std::uint32_t index_of(Buffer& buffer, std::int64_t first_byte);
  TraceOperand use_window(Buffer& buffer, ElementType type, std::int64_t offset,
                          std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides);
  TraceOperand use(const View& view, std::span<const std::int64_t> sizes);
  TraceOperand use(const LibraryOperand& operand);
  TraceOperand use(const Input& input, std::span<const std::int64_t> sizes);
  TraceOperand use(PreparedPointwise& op, std::size_t operand, const PreparedOperand& value);
  /// By the node that is about to be added.
  void mark_written(TraceOperand operand) {
    std::uint32_t& first = buffers_[operand.buffer].first_write;
    first = std::min(first, static_cast<std::uint32_t>(nodes_.size()));
  }
  TraceOperand* operand_space(TraceNode& node, std::size_t count);
  /// Once its operands are resolved.
  void add_node(const TraceNode& node, std::uint32_t source);
  void add_node(const TraceNode& node, std::uint32_t source, std::uint64_t signature);
  std::uint64_t signature_of(std::size_t node) const;
  TraceOperand use_from(const Trace& other, const TraceOperand& operand);
  void append_from(const Trace& other, std::size_t node);
  void truncate(std::size_t nodes);
  void forget();

  StreamId stream_;
  std::uint64_t serial_ = 0;
  std::uint64_t pending_bytes_ = 0;  // of buffers that had no memory when they were first used here
  std::vector<TraceNode> nodes_;
  std::vector<TraceOperand> wide_;
  GeometryTable geometries_;
  std::vector<BufferUse> buffers_;
  std::vector<std::uint64_t> params_;
  std::vector<std::byte> attributes_;
  std::vector<std::shared_ptr<const kernels::LibraryCall>> calls_;
  std::vector<std::uint32_t> sources_;
  std::vector<NodeNote> notes_;
};

}  // namespace spyre::lazy
