// spyre/device_sim/modelled_host.cpp — a thread remembers its time on the machine that it used last.
#include "spyre/device_sim/modelled_host.h"

#include <atomic>

namespace spyre::device_sim {
namespace {

struct ThreadTime {
  std::uint64_t machine = 0;  // 0: none yet
  std::uint64_t picoseconds = 0;
};
ThreadTime& thread_time() {
  static thread_local ThreadTime time;
  return time;
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> made{0};
  return ++made;
}

}  // namespace

ModelledHost::ModelledHost() : serial_(next_serial()) {}

std::uint64_t ModelledHost::now() const {
  const ThreadTime& time = thread_time();
  return time.machine == serial_ ? time.picoseconds : 0;
}

void ModelledHost::reach(std::uint64_t picoseconds) const {
  thread_time() = {.machine = serial_, .picoseconds = picoseconds};
}

}  // namespace spyre::device_sim
