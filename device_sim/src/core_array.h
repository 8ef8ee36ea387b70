// spyre/device_sim/core_array.h — host threads that play the cores, and their scratchpads.
#pragma once
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <functional>
#include <optional>

#include "host_memory.h"
#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {

/// Runs programs in slices, one per core, as tasks on an arena of its own. Threads start with the
/// first program that is worth it. At most one compute operation runs at a time (the compute
/// pipeline is serial); copies may run beside it. Internally synchronized apart from that.
class CoreArray {
 public:
  explicit CoreArray(const DeviceSpec& spec);

  void run(const Program& program, std::span<const std::byte> arguments, const Work& work);
  void copy(std::byte* target, const std::byte* source, std::size_t length);

 private:
  int slices_of(std::int64_t items, const Work& work) const;
  void run_slices(const Program& program, std::span<const std::byte> arguments, std::int64_t items,
                  int count);
  void for_each_slice(int count, const std::function<void(int)>& slice);
  std::span<std::byte> scratchpad(int slot) const;

  int cores_, threads_;
  Bytes scratchpad_bytes_;
  HostMapping scratchpads_;  // one per arena slot, and one for work that runs on the calling thread
  std::optional<tbb::global_control> more_threads_than_processors_;
  tbb::task_arena arena_;
};

}  // namespace spyre::device_sim
