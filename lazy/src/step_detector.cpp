// spyre/lazy/step_detector.cpp — a window over the latest signatures, a short memory of beginnings.
#include "spyre/lazy/step_detector.h"

#include <utility>

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

void StepDetector::flushed(FlushReason reason) {
  switch (reason) {
    case FlushReason::Step:
    case FlushReason::NodeLimit:
    case FlushReason::ByteLimit: return;
    default: ++reads_;
  }
}

std::optional<std::size_t> StepDetector::note(const Trace& trace, std::size_t node) {
  observed_ = node + 1;
  const std::uint64_t window = slide_window(node, trace.signature(node));
  if (observed_ < kWindow) return std::nullopt;
  if (observed_ == kWindow || period_ != 0) return watch_run(node, window);
  Beginning& known = beginnings_[place_of(window)];
  if (known.window != window || observed_ < kShortest + kWindow + known.offset) return std::nullopt;
  const std::size_t cut = observed_ - kWindow - known.offset;
  return is_step(known) ? std::optional(cut) : std::nullopt;
}

bool StepDetector::is_step(Beginning& known) {
  const bool again = std::exchange(known.met, reads_) == reads_;
  if (!again && known.once) known = {};
  else known.once = !again;
  return known.window != 0;
}

/// The first window that is no part of a run is the trace's beginning.
std::optional<std::size_t> StepDetector::watch_run(std::size_t node, std::uint64_t window) {
  if (observed_ == kWindow) period_ = shortest_period(node);
  // Where a run breaks off, the window has no other period either: two of them, together no longer
  // than the window, would have a common one (Fine and Wilf).
  else if (signature(node) != signature(node - period_)) period_ = 0;
  if (period_ != 0) {
    if (observed_ < kLongestRun) return std::nullopt;
    return observed_ / period_ * period_;
  }
  Beginning& known = beginnings_[place_of(window)];
  if (known.window != window) known = {.window = window};
  known.offset = observed_ - kWindow;
  known.met = reads_;
  return std::nullopt;
}

/// Of the window that ends with `node`; 0 if it has none.
std::size_t StepDetector::shortest_period(std::size_t node) const {
  for (std::size_t period = 1; period <= kLongestPeriod; ++period) {
    std::size_t equal = 0;
    while (equal + period < kWindow && signature(node - equal) == signature(node - equal - period))
      ++equal;
    if (equal + period == kWindow) return period;
  }
  return 0;
}

}  // namespace spyre::lazy
