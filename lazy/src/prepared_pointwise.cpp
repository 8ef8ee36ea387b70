// spyre/lazy/prepared_pointwise.cpp — a node that is ready but for its buffers.
#include "spyre/lazy/prepared_pointwise.h"

#include "spyre/base/error.h"

namespace spyre::lazy {

PreparedPointwise::PreparedPointwise(const Pointwise& op) : node_(node_of(op)), sizes_(op.sizes) {
  for (const Input& input : op.inputs) {
    ensure(input.kind != Input::Kind::Iota, "counters are not prepared");
    const bool number = input.kind == Input::Kind::Scalar;
    if (number) numbers_ |= 1U << windows_.size();
    const ElementType type = ElementType::of(number ? input.scalar : input.view.dtype);
    windows_.push_back({.type = type, .strides = Dims(input.view.strides)});
  }
  windows_.push_back(
      {.type = ElementType::of(op.output.dtype), .strides = Dims(op.output.strides)});
  output_bytes_ = {static_cast<std::uint64_t>(sizes_.numel()) * size_of(op.output.dtype)};
}

View PreparedPointwise::view(std::size_t operand, const PreparedOperand& value) const {
  const Window& window = windows_[operand];
  return {value.buffer, window.type.native(), value.offset, window.strides.span()};
}

std::vector<Input> PreparedPointwise::described(std::span<const PreparedOperand> inputs) const {
  std::vector<Input> described;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_number(i))
      described.push_back({.kind = Input::Kind::Scalar,
                           .bits = inputs[i].bits,
                           .scalar = windows_[i].type.native()});
    else described.push_back(Input::of(view(i, inputs[i])));
  }
  return described;
}

Pointwise PreparedPointwise::described(std::span<const Input> inputs, const PreparedOperand& output,
                                       std::uint32_t source) const {
  return {.op = OpId{node_.code},
          .compute = node_.compute,
          .result = node_.result,
          .sizes = sizes_.span(),
          .inputs = inputs,
          .output = view(inputs.size(), output),
          .source = source,
          .may_fault = node_.may_fault};
}

TraceOperand Trace::use(PreparedPointwise& op, std::size_t operand, const PreparedOperand& value) {
  PreparedPointwise::Window& window = op.windows_[operand];
  const std::uint32_t buffer = index_of(*value.buffer, value.offset * window.type.size);
  const std::int64_t offset = buffers_[buffer].relative(value.offset, window.type.size);
  if (window.serial != serial_ || window.offset != offset) {
    window.index = geometries_.intern(window.type, offset, op.sizes_.span(), window.strides.span());
    window.serial = serial_;
    window.offset = offset;
    if (const std::uint64_t hash = geometries_.hash_of(window.index); hash != window.hash) {
      window.hash = hash;
      op.signature_ = 0;
    }
  }
  return {buffer, window.index};
}

void Trace::append(PreparedPointwise& op, std::span<const PreparedOperand> inputs,
                   const PreparedOperand& output, std::uint32_t source) {
  TraceNode node = op.node_;
  node.first_param = static_cast<std::uint32_t>(params_.size());
  TraceOperand* operands = operand_space(node, inputs.size() + 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.is_number(i)) {
      params_.push_back(inputs[i].bits);
      *operands++ = {TraceOperand::kScalar, op.windows_[i].type.dtype};
    } else {
      *operands++ = use(op, i, inputs[i]);
    }
  }
  *operands = use(op, inputs.size(), output);
  mark_written(*operands);
  if (op.signature_ != 0) return add_node(node, source, op.signature_);
  add_node(node, source);
  op.signature_ = notes_.back().signature;
}

}  // namespace spyre::lazy
