// spyre/lazy/step_detector.cpp — a signature per node, a window over the latest, a short memory of beginnings.
#include "spyre/lazy/step_detector.h"

#include <algorithm>

#include "spyre/base/hash.h"

namespace spyre::lazy {
namespace {

constexpr std::uint64_t kMultiplier =
    0x9E37'79B9'7F4A'7C15;  // 2^64 / golden ratio: spreads every bit upwards

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  const std::uint64_t product = (hash ^ word) * kMultiplier;
  return product ^ product >> 32;
}

}  // namespace

std::uint64_t signature(const Trace& trace, std::size_t index) {
  const TraceNode& node = trace.nodes()[index];
  std::uint64_t h = static_cast<std::uint64_t>(node.kind) |
                    static_cast<std::uint64_t>(node.compute) << 8 |
                    static_cast<std::uint64_t>(node.result) << 16 | std::uint64_t{node.code} << 32 |
                    std::uint64_t{node.inputs} << 48;
  h = mix(h, node.reduced | std::uint64_t{node.outputs} << 32);
  for (const TraceOperand& operand : trace.operands(node))
    h = mix(h,
            operand.is_scalar() ? operand.geometry : trace.geometries().hash_of(operand.geometry));
  if (node.kind == TraceNode::Kind::Library) h = mix(h, hash(trace.attributes_of(index)).low);
  return h;
}

std::uint64_t StepDetector::window_ending_at(std::size_t node) const {
  std::uint64_t h = 0;
  for (std::size_t i = 1; i <= kWindow; ++i) h = mix(h, signatures_[(node + i) % kWindow]);
  return h | 1;  // 0 marks an unused place
}

bool StepDetector::is_known(std::uint64_t window) const {
  return std::ranges::find(beginnings_, window) != beginnings_.end();
}

void StepDetector::remember(std::uint64_t window) {
  if (is_known(window)) return;
  beginnings_[next_++ % kRemembered] = window;
}

std::optional<std::size_t> StepDetector::observe(const Trace& trace) {
  if (observed_ + 1 != trace.nodes().size()) {  // another trace, or what is left behind a cut
    observed_ = 0;
    for (std::size_t node = 0; node + 1 < trace.nodes().size(); ++node) note(trace, node);
  }
  return note(trace, observed_);
}

std::optional<std::size_t> StepDetector::note(const Trace& trace, std::size_t node) {
  observed_ = node + 1;
  signatures_[node % kWindow] = signature(trace, node);
  if (node + 1 < kWindow) return std::nullopt;
  if (node + 1 == kWindow) {
    remember(window_ending_at(node));
    return std::nullopt;
  }
  if (node + 1 < kShortest + kWindow || !is_known(window_ending_at(node))) return std::nullopt;
  return node + 1 - kWindow;
}

}  // namespace spyre::lazy
