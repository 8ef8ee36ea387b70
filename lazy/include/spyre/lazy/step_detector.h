// spyre/lazy/step_detector.h — where a program that never reads its results starts over.
//
// A training loop that is only read now and then records step after step into one trace. Cut by
// length alone, every trace would begin at another place of the step, and no plan would be found
// again. So each trace's beginning is remembered by the structure of its first nodes, and where the
// same nodes come again, the trace is cut before them. Structure is operations, types and geometry:
// neither buffers nor numbers. The content alone decides, so the same program is always cut in the
// same places.
//
// Operations that are recorded together, a compiled kernel's, are one unit: what its loops repeat is no beginning, and
// no step is cut in its midst.
//
// A run, one operation or a few that repeat for every parameter of a model, is not a step that starts
// over: all of its places look alike, and what becomes one kernel stands in several runs. A trace that
// begins with one is known by where the run ends. Only a run that goes on is cut, after whole periods.
//
// Not every trace begins with a step: one behind a limit begins anywhere, and another program may
// have the same nodes in its midst. So what is met but once between two reads, two times in a row,
// is forgotten: there the program itself says where its steps end.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spyre/lazy/flush_reason.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// Watches one stream's trace. Guarded by the device's lock.
class StepDetector {
 public:
  static constexpr std::size_t kWindow = 16;      // units that make a beginning
  static constexpr std::size_t kShortest = 64;    // nodes that a cut must leave in front
  static constexpr std::size_t kRemembered = 64;  // beginnings; one with the same place is replaced
  static constexpr std::size_t kLongestPeriod = kWindow / 2;  // of a run: a window shows it twice
  static constexpr std::size_t kLongestRun = 1024;            // nodes; a trace of more is cut

  /// After each unit: the number of nodes in front of the place to cut, if the last kWindow units
  /// are a known beginning, or the trace nothing but a long run.
  std::optional<std::size_t> observe(const Trace& trace);
  /// After each flush: reads of the program are told from cuts.
  void flushed(FlushReason reason);

 private:
  struct Beginning {
    std::uint64_t window = 0;  // its hash; 0: none
    std::size_t offset = 0;    // units in front of it: of the run that the trace begins with
    std::uint64_t met = 0;     // after which read last
    bool once = false;         // after the read before that
  };

  std::optional<std::size_t> note(const Trace& trace, std::size_t first);
  std::optional<std::size_t> watch_run(std::size_t unit, std::uint64_t window);
  bool is_step(Beginning& known);
  std::size_t shortest_period(std::size_t unit) const;
  std::uint64_t signature(std::size_t unit) const { return signatures_[unit % kWindow]; }
  std::uint64_t slide_window(std::size_t unit, std::uint64_t newest);
  /// The number of nodes in front of a unit, or in all.
  std::size_t nodes_before(std::size_t unit) const {
    return unit < starts_.size() ? starts_[unit] : nodes_;
  }
  static std::size_t place_of(std::uint64_t window) { return (window >> 32) % kRemembered; }

  std::array<std::uint64_t, kWindow> signatures_{};  // of the latest units, a ring
  std::uint64_t rolling_ = 0;                        // their hash
  std::vector<std::uint32_t> starts_;                // of the units seen so far: their first nodes
  std::uint64_t serial_ = 0;                         // of the trace seen so far
  std::size_t nodes_ = 0;                            // of it
  std::size_t period_ = 0;  // of the run that is all of the trace so far; 0: there is none
  std::array<Beginning, kRemembered> beginnings_{};
  std::uint64_t reads_ = 0;
};

}  // namespace spyre::lazy
