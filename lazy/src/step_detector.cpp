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

/// Of a unit: a node's own, or one made of those of several.
std::uint64_t signature_of(const Trace& trace, std::size_t first, std::size_t end) {
  std::uint64_t signature = trace.signature(first);
  for (std::size_t node = first + 1; node < end; ++node)
    signature = (signature ^ signature >> 32) * kMultiplier + trace.signature(node);
  return signature;
}

}  // namespace

/// The window's hash is a polynomial of its signatures, so that one more unit costs two products.
std::uint64_t StepDetector::slide_window(std::size_t unit, std::uint64_t newest) {
  std::uint64_t& place = signatures_[unit % kWindow];
  const std::uint64_t left_behind = unit < kWindow ? 0 : place;
  if (unit == 0) rolling_ = 0;
  rolling_ = rolling_ * kMultiplier + newest - left_behind * kOldestFactor;
  place = newest;
  return rolling_ | 1;  // 0 marks an unused place
}

std::optional<std::size_t> StepDetector::observe(const Trace& trace) {
  const std::size_t newest = trace.last_unit();
  if (serial_ != trace.serial() ||
      nodes_ != newest) {  // another trace, or what is left behind a cut
    serial_ = trace.serial();
    starts_.clear();
    for (nodes_ = 0; nodes_ != newest;) note(trace, nodes_);
  }
  return note(trace, newest);
}

void StepDetector::flushed(FlushReason reason) {
  switch (reason) {
    case FlushReason::Step:
    case FlushReason::NodeLimit:
    case FlushReason::ByteLimit: return;
    default: ++reads_;
  }
}

std::optional<std::size_t> StepDetector::note(const Trace& trace, std::size_t first) {
  const std::size_t unit = starts_.size(), units = unit + 1;
  starts_.push_back(static_cast<std::uint32_t>(first));
  nodes_ = trace.unit_end(first);
  const std::uint64_t window = slide_window(unit, signature_of(trace, first, nodes_));
  if (units < kWindow) return std::nullopt;
  if (units == kWindow || period_ != 0) return watch_run(unit, window);
  Beginning& known = beginnings_[place_of(window)];
  if (known.window != window || units < kWindow + known.offset) return std::nullopt;
  const std::size_t cut = nodes_before(units - kWindow - known.offset);
  return cut >= kShortest && is_step(known) ? std::optional(cut) : std::nullopt;
}

bool StepDetector::is_step(Beginning& known) {
  const bool again = std::exchange(known.met, reads_) == reads_;
  if (!again && known.once) known = {};
  else known.once = !again;
  return known.window != 0;
}

/// The first window that is no part of a run is the trace's beginning.
std::optional<std::size_t> StepDetector::watch_run(std::size_t unit, std::uint64_t window) {
  const std::size_t units = unit + 1;
  if (units == kWindow) period_ = shortest_period(unit);
  // Where a run breaks off, the window has no other period either: two of them, together no longer
  // than the window, would have a common one (Fine and Wilf).
  else if (signature(unit) != signature(unit - period_)) period_ = 0;
  if (period_ != 0) {
    if (nodes_ < kLongestRun) return std::nullopt;
    return nodes_before(units / period_ * period_);
  }
  Beginning& known = beginnings_[place_of(window)];
  if (known.window != window) known = {.window = window};
  known.offset = units - kWindow;
  known.met = reads_;
  return std::nullopt;
}

/// Of the window that ends with `unit`; 0 if it has none.
std::size_t StepDetector::shortest_period(std::size_t unit) const {
  for (std::size_t period = 1; period <= kLongestPeriod; ++period) {
    std::size_t equal = 0;
    while (equal + period < kWindow && signature(unit - equal) == signature(unit - equal - period))
      ++equal;
    if (equal + period == kWindow) return period;
  }
  return 0;
}

}  // namespace spyre::lazy
