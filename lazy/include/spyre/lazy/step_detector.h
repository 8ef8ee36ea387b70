// spyre/lazy/step_detector.h — where a program that never reads its results starts over.
//
// A training loop that is only read now and then records step after step into one trace. Cut by
// length alone, every trace would begin at another place of the step, and no plan would be found
// again. So each trace's beginning is remembered by the structure of its first nodes, and where the
// same nodes come again, the trace is cut before them. Structure is operations, types and geometry:
// neither buffers nor numbers. The content alone decides, so the same program is always cut in the
// same places.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// Watches one stream's trace. Guarded by the device's lock.
class StepDetector {
 public:
  static constexpr std::size_t kWindow = 16;      // nodes that make a beginning
  static constexpr std::size_t kShortest = 64;    // nodes that a cut must leave in front
  static constexpr std::size_t kRemembered = 64;  // beginnings; one with the same place is replaced

  /// After each node: the number of nodes in front of the place to cut, if the last kWindow nodes
  /// are a known beginning.
  std::optional<std::size_t> observe(const Trace& trace);

 private:
  std::optional<std::size_t> note(const Trace& trace, std::size_t node);
  std::uint64_t slide_window(std::size_t node, std::uint64_t newest);
  static std::size_t place_of(std::uint64_t window) { return (window >> 32) % kRemembered; }

  std::array<std::uint64_t, kWindow> signatures_{};  // of the latest nodes, a ring
  std::uint64_t rolling_ = 0;                        // their hash
  std::size_t observed_ = 0;                         // nodes of the trace seen so far
  std::array<std::uint64_t, kRemembered> beginnings_{};
};

}  // namespace spyre::lazy
