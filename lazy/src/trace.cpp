// spyre/lazy/trace.cpp — recording: resolve buffers and geometries to indices, store one node.
#include "spyre/lazy/trace.h"

#include "buffer_access.h"
#include "device_state.h"
#include "spyre/base/error.h"

namespace spyre::lazy {

namespace {

// Serials are unique on a device: the stream is in the high bits, the stream's flush count in the
// low ones.
constexpr unsigned kSerialStreamShift = 40;
constexpr unsigned kSerialSecondShift = 39;

}  // namespace

Trace::Trace(StreamId stream, bool second)
    : stream_(stream),
      serial_((std::uint64_t{stream.value} + 1) << kSerialStreamShift |
              std::uint64_t{second} << kSerialSecondShift) {}

StreamId Trace::stream_of_serial(std::uint64_t serial) {
  return {static_cast<std::uint32_t>((serial >> kSerialStreamShift) - 1)};
}

bool Trace::uses(const Buffer& buffer) const {
  return BufferAccess::trace_serial(const_cast<Buffer&>(buffer)) == serial_;
}

bool Trace::writes(const Buffer& buffer) const {
  return uses(buffer) && writes(buffers_[BufferAccess::trace_index(const_cast<Buffer&>(buffer))]);
}

std::size_t Trace::last_unit() const {
  std::size_t first = nodes_.size() - 1;
  while (first > 0 && notes_[first].joined) --first;
  return first;
}

std::size_t Trace::unit_end(std::size_t first) const {
  std::size_t end = first + 1;
  while (end < nodes_.size() && notes_[end].joined) ++end;
  return end;
}

std::span<const TraceOperand> Trace::operands(const TraceNode& node) const {
  const std::size_t count = std::size_t{node.inputs} + node.outputs;
  return {count <= TraceNode::kInline ? node.operands.data() : wide_.data() + node.first_wide,
          count};
}

TraceOperand* Trace::operand_space(TraceNode& node, std::size_t count) {
  if (count <= TraceNode::kInline) return node.operands.data();
  node.first_wide = static_cast<std::uint32_t>(wide_.size());
  wide_.resize(wide_.size() + count);
  return wide_.data() + node.first_wide;
}

std::uint32_t Trace::index_of(Buffer& buffer, std::int64_t first_byte) {
  if (BufferAccess::trace_serial(buffer) == serial_) return BufferAccess::trace_index(buffer);
  const auto index = static_cast<std::uint32_t>(buffers_.size());
  BufferUse use{&buffer};
  // What a plan gives memory to it must see whole.
  if (BufferAccess::has_memory(buffer))
    use.first_block = static_cast<std::uint32_t>(first_byte / BufferUse::kBlock);
  buffers_.push_back(use);
  buffer.add_reference();
  BufferAccess::trace_serial(buffer) = serial_;
  BufferAccess::trace_index(buffer) = index;
  if (!BufferAccess::has_memory(buffer)) pending_bytes_ += buffer.size().count;
  return index;
}

bool Trace::asks_for_more_than(Bytes limit) {
  if (pending_bytes_ < limit.count) return false;
  pending_bytes_ = 0;
  for (const BufferUse& use : buffers_)
    if (use.buffer->observable() && !BufferAccess::has_memory(*use.buffer))
      pending_bytes_ += use.buffer->size().count;
  return pending_bytes_ >= limit.count / 2;
}

TraceOperand Trace::use_window(Buffer& buffer, ElementType type, std::int64_t offset,
                               std::span<const std::int64_t> sizes,
                               std::span<const std::int64_t> strides) {
  const std::uint32_t index = index_of(buffer, offset * type.size);
  return {index,
          geometries_.intern(type, buffers_[index].relative(offset, type.size), sizes, strides)};
}

TraceOperand Trace::use(const View& view, std::span<const std::int64_t> sizes) {
  return use_window(*view.buffer, ElementType::of(view.dtype), view.offset, sizes, view.strides);
}

TraceOperand Trace::use(const LibraryOperand& operand) {
  const ElementType type = ElementType::foreign(operand.element_size, operand.type_code);
  return use_window(*operand.buffer, type, operand.offset, operand.sizes, operand.strides);
}

TraceOperand Trace::use(const Input& input, std::span<const std::int64_t> sizes) {
  switch (input.kind) {
    case Input::Kind::View: return use(input.view, sizes);
    case Input::Kind::Scalar:
      params_.push_back(input.bits);
      return {TraceOperand::kScalar, static_cast<std::uint32_t>(input.scalar)};
    case Input::Kind::Iota:
      params_.push_back(input.bits);
      return {TraceOperand::kIota,
              geometries_.intern(ElementType::of(DType::I64), 0, sizes, input.view.strides)};
  }
  return {};
}

void Trace::add_node(const TraceNode& node, std::uint32_t source) {
  add_node(node, source, 0);
  notes_.back().signature = signature_of(nodes_.size() - 1);
}

void Trace::add_node(const TraceNode& node, std::uint32_t source, std::uint64_t signature) {
  const auto count = [](const auto& table) { return static_cast<std::uint32_t>(table.size()); };
  nodes_.push_back(node);
  sources_.push_back(source);
  notes_.push_back({signature, count(wide_), count(geometries_), count(buffers_), count(params_),
                    count(attributes_), count(calls_)});
}

TraceNode node_of(const Pointwise& op) {
  TraceNode node;
  node.kind = TraceNode::Kind::Pointwise;
  node.compute = op.compute;
  node.result = op.result;
  node.may_fault = op.may_fault;
  node.code = op.op.value;
  node.inputs = static_cast<std::uint16_t>(op.inputs.size());
  node.outputs = 1;
  return node;
}

void Trace::append(const Pointwise& op) {
  TraceNode node = node_of(op);
  node.first_param = static_cast<std::uint32_t>(params_.size());
  TraceOperand* operands = operand_space(node, op.inputs.size() + 1);
  for (const Input& input : op.inputs) *operands++ = use(input, op.sizes);
  *operands = use(op.output, op.sizes);
  mark_written(*operands);
  add_node(node, op.source);
}

void Trace::append(TraceNode::Kind kind, const Reduce& op) {
  TraceNode node;
  node.kind = kind;
  node.compute = op.compute;
  node.result = op.result;
  node.code = static_cast<std::uint16_t>(op.reduction);
  node.inputs = 1;
  node.outputs = 1;
  node.reduced = op.reduced;
  node.first_param = static_cast<std::uint32_t>(params_.size());
  node.operands[0] = use(op.input, op.sizes);
  node.operands[1] = use(op.output, op.sizes);
  mark_written(node.operands[1]);
  add_node(node, op.source);
}

void Trace::append(const Library& op, std::shared_ptr<const kernels::LibraryCall> call) {
  TraceNode node;
  node.kind = TraceNode::Kind::Library;
  node.may_fault = op.may_fault;
  node.inputs = static_cast<std::uint16_t>(op.inputs.size());
  node.outputs = static_cast<std::uint16_t>(op.outputs.size());
  node.first_param = static_cast<std::uint32_t>(params_.size());
  node.call = static_cast<std::uint32_t>(calls_.size());
  calls_.push_back(std::move(call));
  const auto name = std::as_bytes(std::span(op.name));
  attributes_.insert(attributes_.end(), name.begin(), name.end());
  attributes_.push_back(std::byte{0});
  attributes_.insert(attributes_.end(), op.key.begin(), op.key.end());
  node.attributes_end = static_cast<std::uint32_t>(attributes_.size());
  TraceOperand* operands = operand_space(node, op.inputs.size() + op.outputs.size());
  for (const LibraryOperand& input : op.inputs) *operands++ = use(input);
  for (const LibraryOperand& output : op.outputs) {
    *operands = use(output);
    mark_written(*operands++);
  }
  add_node(node, op.source);
}

void Trace::clear() {
  if (!buffers_.empty())
    buffers_.front().buffer->device().state_->buffers.drop_references(buffers_);
  forget();
}

void Trace::hand_over(std::vector<BufferUse>& buffers, std::vector<std::uint64_t>& params,
                      std::vector<std::uint32_t>& sources) {
  buffers.swap(buffers_);
  params.swap(params_);
  sources.swap(sources_);
  forget();
}

void Trace::forget() {
  buffers_.clear();
  params_.clear();
  sources_.clear();
  notes_.clear();
  nodes_.clear();
  wide_.clear();
  geometries_.clear();
  attributes_.clear();
  calls_.clear();
  pending_bytes_ = 0;
  ++serial_;
}

}  // namespace spyre::lazy
