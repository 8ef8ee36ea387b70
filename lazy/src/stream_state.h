// spyre/lazy/stream_state.h — what a device keeps for one stream: its trace, its flights, its
// transfers, its faults.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "flight.h"
#include "spyre/lazy/captured_graph.h"
#include "spyre/lazy/step_detector.h"
#include "spyre/lazy/trace.h"
#include "spyre/lazy/verified_cache.h"
#include "stream_faults.h"

namespace spyre::lazy {

/// A bounded number of launches and transfers are in progress on a stream; whoever adds one more
/// waits for the oldest first. Whether somebody waits is decided by what the program waited for
/// before, never by how far the card happens to be: modelled time must not depend on it (law 7).
/// A capture has a trace alone, and none of the rest.
/// Guarded by the device's lock, except `faults` and `awaited`.
struct StreamState {
  static constexpr std::size_t kFlights = 8, kTransfers = 64;

  StreamState(StreamId id, device_sim::Card& card, BufferPool& buffers,
              const Directives& directives)
      : finished(id, true), trace(id) {
    for (std::size_t i = 0; i < kFlights; ++i)
      flights.emplace_back(card, buffers, directives, faults, arena);
  }

  StreamId id() const { return trace.stream(); }
  /// What the next launch takes, or null.
  Trace* oldest() {
    if (!finished.empty()) return &finished;
    return trace.empty() ? nullptr : &trace;
  }
  bool empty() const { return finished.empty() && trace.empty(); }
  /// True if the program has waited for the point, or for a later one.
  bool has_awaited(device_sim::TimelinePoint point) const {
    return point.sequence <= awaited.load(std::memory_order_acquire);
  }
  /// The slot that the next launch uses; it may be busy.
  Flight& next_flight() { return flights[slot]; }
  /// The one that was launched `count` launches before the next one, as far as the ring goes back.
  const Flight& flight_before(std::size_t count) const {
    return flights[(slot + kFlights - count % kFlights) % kFlights];
  }
  /// Before a launch: who has waited for all others begins the ring again. So a program that waits
  /// for each of its launches has one slot, whose memory the caches know.
  void choose_flight() {
    if (has_awaited(latest)) slot = 0;
  }
  /// When the transfer that used the next transfer's place is done.
  device_sim::TimelinePoint& oldest_transfer() { return transfers[transfer_count % kTransfers]; }
  /// In that place, which is free.
  void add_transfer(device_sim::TimelinePoint point) {
    oldest_transfer() = point;
    ++transfer_count;
  }

  StreamFaults faults;
  std::atomic<std::uint64_t> awaited{0};  // sequence of the latest point that was waited for
  /// A step that was cut off the trace and waits for its launch: it comes before `trace`.
  Trace finished;
  Trace trace;
  std::unique_ptr<CapturedGraph> capture;  // what the trace becomes a part of; else null
  StepDetector steps;
  CacheHint last_plan;  // of the trace that was launched last
  LatestArena arena;
  std::deque<Flight> flights;          // a ring of kFlights
  std::size_t slot = 0;                // the next one
  device_sim::TimelinePoint latest{};  // of the last launch
  std::uint64_t launches = 0;
  std::array<device_sim::TimelinePoint, kTransfers> transfers{};
  std::uint64_t transfer_count = 0;
};

}  // namespace spyre::lazy
