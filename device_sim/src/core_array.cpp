// spyre/device_sim/core_array.cpp — slices of work on threads.
//
// Any split gives the same result (a program's items are independent), so the rules here are about
// speed alone. They depend on the work and never on timing. If several slices fail, the lowest
// one's error is reported, whichever thread was first.
#include "core_array.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>

#include "spyre/base/error.h"
#include "spyre/base/mutex.h"

namespace spyre::device_sim {
namespace {

/// Below these, waking other threads costs more than they save.
constexpr std::uint64_t kInlineBytes = 256 << 10, kInlineLaneOps = 128 << 10, kInlineMacs = 1 << 20;
constexpr std::size_t kCopyChunk = 2 << 20, kInlineCopy = 8 << 20;
constexpr std::size_t kScratchpadAlignment = 64;

/// How many slices the work is worth: none is smaller than what another thread is woken for, since
/// its start is not free either. What costs the card nothing may take this machine long: there the
/// program's items alone tell.
std::uint64_t slices_worth(const Work& work) {
  const std::uint64_t bytes = work.bytes_read + work.bytes_written;
  if (bytes + work.lane_ops + work.macs == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::max({bytes / kInlineBytes, work.lane_ops / kInlineLaneOps, work.macs / kInlineMacs});
}

/// Kernels count on the default floating-point mode: round to nearest, subnormals kept, no traps.
/// Threads come here in whatever mode their owner likes.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : before_(_mm_getcsr()) {
    if ((before_ & kControl) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatMode() {
    if ((before_ & kControl) != kDefault) _mm_setcsr(before_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  static constexpr unsigned kControl = 0xFFC0,
                            kDefault = 0x1F80;  // everything but the status flags
  unsigned before_;
};

/// The error of the lowest slice that failed. Internally synchronized.
class FirstFailure {
 public:
  void note(int slice, std::exception_ptr error) {
    const Lock lock(mutex_);
    if (error_ && slice_ < slice) return;
    slice_ = slice;
    error_ = std::move(error);
  }
  void rethrow() {
    const Lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Mutex mutex_;
  int slice_ SPYRE_GUARDED_BY(mutex_) = 0;
  std::exception_ptr error_ SPYRE_GUARDED_BY(mutex_);
};

int thread_count(const DeviceSpec& spec) {
  return spec.host_threads > 0 ? spec.host_threads : tbb::info::default_concurrency();
}

}  // namespace

CoreArray::CoreArray(const DeviceSpec& spec)
    : cores_(spec.cores),
      threads_(thread_count(spec)),
      scratchpad_bytes_(spec.scratchpad.rounded_up({kScratchpadAlignment})),
      scratchpads_(scratchpad_bytes_ * (static_cast<std::uint64_t>(threads_) + 1), Pages::Small),
      arena_(threads_) {
  // TBB caps threads at the number of processors, and complains, unless it is told that we mean it.
  if (threads_ > tbb::info::default_concurrency())
    more_threads_than_processors_.emplace(tbb::global_control::max_allowed_parallelism,
                                          static_cast<std::size_t>(threads_));
}

std::span<std::byte> CoreArray::scratchpad(int slot) const {
  return {scratchpads_.data() + static_cast<std::size_t>(slot) * scratchpad_bytes_.count,
          scratchpad_bytes_.count};
}

void CoreArray::run(const Program& program, std::span<const std::byte> arguments,
                    const Work& work) {
  const std::int64_t items = program.work_items(arguments);
  if (items <= 0) return;
  const int slices = slices_of(items, work);
  if (slices > 1) return run_slices(program, arguments, items, slices);
  const DefaultFloatMode mode;
  Core core{.scratchpad = scratchpad(threads_)};
  program.run(arguments, 0, items, core);
}

/// As many for one thread as for another, as far as items and cores go.
int CoreArray::slices_of(std::int64_t items, const Work& work) const {
  const auto threads = static_cast<std::uint64_t>(threads_);
  const std::uint64_t most = std::min<std::uint64_t>(static_cast<std::uint64_t>(items),
                                                     static_cast<std::uint64_t>(cores_)),
                      worth = slices_worth(work);
  if (threads == 1 || worth == 0) return 1;
  return static_cast<int>(
      worth >= most ? most : std::min(most, (worth + threads - 1) / threads * threads));
}

void CoreArray::run_slices(const Program& program, std::span<const std::byte> arguments,
                           std::int64_t items, int count) {
  FirstFailure failure;
  for_each_slice(count, [&](int slice) {
    const DefaultFloatMode mode;
    Core core{.id = {static_cast<std::uint16_t>(slice)},
              .scratchpad = scratchpad(tbb::this_task_arena::current_thread_index())};
    try {
      program.run(arguments, items * slice / count, items * (slice + 1) / count, core);
    } catch (...) { failure.note(slice, std::current_exception()); }
  });
  failure.rethrow();
}

void CoreArray::for_each_slice(int count, const std::function<void(int)>& slice) {
  // TBB orders caller and slices by itself; the counter says so in terms ThreadSanitizer can see.
  std::atomic<int> missing = 0;
  missing.store(count, std::memory_order_release);
  const auto counted = [&](int i) {
    static_cast<void>(missing.load(std::memory_order_acquire));
    slice(i);
    missing.fetch_sub(1, std::memory_order_release);
  };
  arena_.execute([&] { tbb::parallel_for(0, count, counted, tbb::simple_partitioner()); });
  ensure(missing.load(std::memory_order_acquire) == 0, "every slice has run");
}

void CoreArray::copy(std::byte* target, const std::byte* source, std::size_t length) {
  if (length == 0) return;
  if (length <= kInlineCopy || threads_ == 1) {
    std::memcpy(target, source, length);
    return;
  }
  for_each_slice(static_cast<int>((length + kCopyChunk - 1) / kCopyChunk), [&](int chunk) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * kCopyChunk;
    std::memcpy(target + begin, source + begin, std::min(kCopyChunk, length - begin));
  });
}

}  // namespace spyre::device_sim
