// spyre/device_sim/modelled_host.h — how far each thread of the host is in modelled time, over all cards of a machine.
#pragma once
#include <cstdint>

namespace spyre::device_sim {

/// A thread that uses one card after the other takes its time along: what it asks of the second comes after what it
/// has waited for on the first. Threads that use cards of their own know nothing of each other, so that what one does
/// never depends on how far this host has got with another. Internally synchronized: each thread has its own time.
class ModelledHost {
 public:
  ModelledHost();
  ModelledHost(const ModelledHost&) = delete;
  ModelledHost& operator=(const ModelledHost&) = delete;

  /// Picoseconds of the calling thread.
  std::uint64_t now() const;
  /// The calling thread is there now.
  void reach(std::uint64_t picoseconds) const;

 private:
  std::uint64_t serial_;
};

}  // namespace spyre::device_sim
