// spyre/lazy/trace_split.cpp — cuts a trace in two: the tail is recorded again, the head forgets it.
#include <utility>

#include "buffer_access.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

void Trace::split_off(std::size_t first, Trace& tail) {
  for (std::size_t node = first; node < nodes_.size(); ++node) tail.append_from(*this, node);
  truncate(first);
}

TraceOperand Trace::use_from(const Trace& other, const TraceOperand& operand) {
  if (operand.is_scalar()) return operand;
  const Geometry g = other.geometries_[operand.geometry];
  if (operand.is_iota())
    return {operand.buffer, geometries_.intern(g.type(), g.offset(), g.sizes(), g.strides())};
  const BufferUse& there = other.buffers_[operand.buffer];
  return use_window(*there.buffer, g.type(), there.absolute(g.offset(), g.type().size), g.sizes(),
                    g.strides());
}

void Trace::append_from(const Trace& other, std::size_t index) {
  TraceNode node = other.nodes_[index];
  const std::span<const TraceOperand> operands = other.operands(node);
  std::size_t param = node.first_param;
  node.first_param = static_cast<std::uint32_t>(params_.size());
  TraceOperand* copy = operand_space(node, operands.size());
  for (const TraceOperand operand : operands) {
    if (!operand.is_buffer()) params_.push_back(other.params_[param++]);
    *copy++ = use_from(other, operand);
  }
  if (node.kind == TraceNode::Kind::Library) {
    const auto bytes = other.attributes_of(index);
    attributes_.insert(attributes_.end(), bytes.begin(), bytes.end());
    node.attributes_end = static_cast<std::uint32_t>(attributes_.size());
    node.call = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back(other.calls_[other.nodes_[index].call]);
  }
  for (const TraceOperand written : std::span(copy - node.outputs, copy)) mark_written(written);
  add_node(node, other.sources_[index], other.notes_[index].signature);
  notes_.back().joined = other.notes_[index].joined;
}

std::span<const std::byte> Trace::attributes_of(std::size_t index) const {
  std::size_t first = 0;
  for (std::size_t before = index; before-- > 0;)
    if (nodes_[before].kind == TraceNode::Kind::Library) {
      first = nodes_[before].attributes_end;
      break;
    }
  return attributes().subspan(first, nodes_[index].attributes_end - first);
}

void Trace::truncate(std::size_t count) {
  // Tables are numbered by first use, so what only the tail used stands at their ends.
  const NodeNote ends = count == 0 ? NodeNote{} : notes_[count - 1];
  nodes_.resize(count);
  sources_.resize(count);
  notes_.resize(count);
  for (std::size_t i = ends.buffers; i < buffers_.size(); ++i) buffers_[i].buffer->drop_reference();
  buffers_.resize(ends.buffers);
  geometries_.truncate(ends.geometries);
  wide_.resize(ends.wide);
  attributes_.resize(ends.attributes);
  calls_.resize(ends.calls);
  params_.resize(ends.params);
}

void Trace::swap(Trace& other) noexcept {
  std::swap(stream_, other.stream_);
  std::swap(serial_, other.serial_);
  std::swap(pending_bytes_, other.pending_bytes_);
  nodes_.swap(other.nodes_);
  wide_.swap(other.wide_);
  std::swap(geometries_, other.geometries_);
  buffers_.swap(other.buffers_);
  params_.swap(other.params_);
  attributes_.swap(other.attributes_);
  calls_.swap(other.calls_);
  sources_.swap(other.sources_);
  notes_.swap(other.notes_);
}

void Trace::move_to(Trace& kept) noexcept {
  swap(kept);
  serial_ = kept.serial_ + 1;
}

}  // namespace spyre::lazy
