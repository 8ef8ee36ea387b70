// spyre/lazy/step_detector.cpp — a window over the latest signatures, a short memory of beginnings.
#include "spyre/lazy/step_detector.h"

namespace spyre::lazy {
namespace {

constexpr std::uint64_t kMultiplier =
    0x9E37'79B9'7F4A'7C15;  // 2^64 / golden ratio: spreads every bit upwards

/// The multiplier to the power of the window: what the oldest signature has grown by.
constexpr std::uint64_t kOldestFactor = [] {
  std::uint64_t factor = 1;
  for (std::size_t i = 0; i < StepDetector::kWindow; ++i) factor *= kMultiplier;
  return factor;
}();

}  // namespace

/// The window's hash is a polynomial of its signatures, so that one more node costs two products.
std::uint64_t StepDetector::slide_window(std::size_t node, std::uint64_t newest) {
  std::uint64_t& place = signatures_[node % kWindow];
  const std::uint64_t left_behind = node < kWindow ? 0 : place;
  if (node == 0) rolling_ = 0;
  rolling_ = rolling_ * kMultiplier + newest - left_behind * kOldestFactor;
  place = newest;
  return rolling_ | 1;  // 0 marks an unused place
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
  const std::uint64_t window = slide_window(node, trace.signature(node));
  if (node + 1 == kWindow) beginnings_[place_of(window)] = window;
  if (node + 1 < kShortest + kWindow || beginnings_[place_of(window)] != window)
    return std::nullopt;
  return node + 1 - kWindow;
}

}  // namespace spyre::lazy
