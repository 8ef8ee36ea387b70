// spyre/lazy/trace_signature.cpp — a hash of what a node does, whichever buffers and numbers it does it with.
#include "spyre/base/hash.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {
namespace {

constexpr std::uint64_t kMultiplier =
    0x9E37'79B9'7F4A'7C15;  // 2^64 / golden ratio: spreads every bit upwards

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  const std::uint64_t product = (hash ^ word) * kMultiplier;
  return product ^ product >> 32;
}

}  // namespace

std::uint64_t Trace::signature_of(std::size_t index) const {
  const TraceNode& node = nodes_[index];
  std::uint64_t h = static_cast<std::uint64_t>(node.kind) |
                    static_cast<std::uint64_t>(node.compute) << 8 |
                    static_cast<std::uint64_t>(node.result) << 16 | std::uint64_t{node.code} << 32 |
                    std::uint64_t{node.inputs} << 48;
  h = mix(h, node.reduced | std::uint64_t{node.outputs} << 32);
  for (const TraceOperand& operand : operands(node))
    h = mix(h, operand.is_scalar() ? operand.geometry : geometries_.hash_of(operand.geometry));
  if (node.kind == TraceNode::Kind::Library) h = mix(h, hash(attributes_of(index)).low);
  return h;
}

}  // namespace spyre::lazy
