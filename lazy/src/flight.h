// spyre/lazy/flight.h — one launch in progress: its argument slot, the buffers it retains, the
// memory it borrows.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arena.h"
#include "buffer_pool.h"
#include "directives.h"
#include "programs.h"
#include "spyre/device_sim/card.h"
#include "spyre/lazy/launch_plan.h"
#include "spyre/lazy/trace.h"
#include "stream_faults.h"

namespace spyre::lazy {

/// Where a flight's handle keeps its counts.
struct alignas(std::max_align_t) HandleSpace {
  std::array<std::byte, 64> bytes;
};

/// A slot of a stream's ring, used again and again. Filled by the launcher, which holds the
/// device's lock; then owned by the card until `last` is reached; then free.
class Flight final : public StepMonitor, public device_sim::LossListener {
 public:
  Flight(device_sim::Card& card, BufferPool& buffers, const Directives& directives,
         StreamFaults& faults, LatestArena& latest)
      : card_(card),
        pool_(buffers),
        directives_(directives),
        faults_(faults),
        latest_arena_(latest) {}
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  device_sim::TimelinePoint last;  // of the launch that used the slot last

  /// Gives every buffer of the plan its place. Throws OutOfDeviceMemory, then nothing has changed.
  void place_buffers(std::shared_ptr<const LaunchPlan> plan, const Trace& trace);
  /// From here on the flight ends with finish(), called through the handle.
  void begin(Trace& trace);
  /// The same of a trace that is launched again: it stays as it is, and `params` stand for its own.
  void begin(const Trace& trace, std::vector<std::uint64_t> params);
  std::shared_ptr<const void> handle();

  /// What recorded the step's first node.
  std::uint32_t source_of(const LaunchStep& step) const {
    return step.nodes.empty() ? 0 : sources_[step.nodes.front()];
  }
  /// What a step touches, on the card.
  device_sim::Footprint footprint_of(const LaunchStep& step) const;
  /// What a step moves in each memory domain; empty if no directive says where that is.
  std::vector<std::uint64_t> traffic_of(const LaunchStep& step) const;
  /// The step's argument record in device memory.
  device_sim::Piece arguments_of(const LaunchStep& step) const;
  device_sim::Piece arguments() const;
  const std::byte* image() const { return reinterpret_cast<const std::byte*>(image_.data()); }
  const LaunchPlan& plan() const { return *plan_; }

  /// Writes resolved addresses and scalars into the slot. Runs on the host-callback pool.
  void fill_image();
  /// The slot may be filled before earlier launches have computed: what they spoil is looked at when
  /// the first step runs.
  void fill_ahead() { unchecked_.store(true, std::memory_order_relaxed); }
  bool skips(std::uint32_t step) noexcept override {
    if (unchecked_.load(std::memory_order_acquire)) [[unlikely]]
      check_once();
    return any_skipped_.load(std::memory_order_acquire) && skip_[step] != 0;
  }
  void failed(std::uint32_t step, std::exception_ptr fault) noexcept override;

  /// The part that is no step: writing and sending arguments. Without it nothing can run.
  static constexpr std::uint32_t kArguments = 0xFFFFFFFF;
  void lost(std::uint32_t part, const std::exception_ptr& fault) noexcept override;
  bool calls_off(std::uint32_t) const noexcept override {
    return without_arguments_.load(std::memory_order_acquire);
  }

 private:
  void reserve_arguments(std::size_t words);
  /// Of at least that size; null if none is needed.
  std::shared_ptr<Arena> arena_for(Bytes size) const;
  void skip_nothing();
  void finish() noexcept;
  void check_once() noexcept;
  void call_off_spoiled();
  void note_fault(std::uint32_t step, std::exception_ptr fault);
  void spoil(std::uint32_t step);
  void call_off(std::vector<bool> spoiled, std::size_t first_step);
  device_sim::Piece part(const Touch& touch) const;

  device_sim::Card& card_;
  BufferPool& pool_;
  const Directives& directives_;  // guarded by the device's lock
  StreamFaults& faults_;
  LatestArena& latest_arena_;         // of the stream; guarded by the device's lock
  std::vector<std::uint64_t> image_;  // pinned: the source of the argument transfer
  device_sim::Allocation argument_memory_;
  std::shared_ptr<Arena> arena_;  // a small one stays from launch to launch
  std::shared_ptr<const LaunchPlan> plan_;
  std::vector<std::pair<device_sim::Allocation*, device_sim::Allocation>> taken_;  // scratch
  std::vector<device_sim::Piece> places_;  // per buffer; of the placed ones only
  std::vector<BufferUse> buffers_;         // retained
  std::vector<std::uint64_t> params_;
  std::vector<std::uint32_t> sources_;
  std::atomic<bool> any_skipped_{false}, without_arguments_{false}, unchecked_{false};
  std::vector<std::uint8_t>
      skip_;  // per step; a failing step writes the entries of later ones only
  HandleSpace handle_space_;
  Mutex failure_;  // slices of one step may fail at once
};

}  // namespace spyre::lazy
