// spyre/device_sim/meters.h — what a card has done so far, as numbers that others may read while it runs.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace spyre::device_sim {

/// Totals since the card started, but for the last four, which are states. Times are modelled.
enum class Meter : std::uint8_t {
  ModelledPs,  // when the last operation that was submitted ends
  ComputePs,   // in which the compute queue ran something
  MatrixPs,    // that the matrix units would need if all of them worked
  Macs,
  BytesRead,  // of device memory, by kernels
  BytesWritten,
  BytesToCard,
  BytesToHost,
  BytesFromPeers,
  BytesToPeers,
  Kernels,
  Transfers,
  Capacity,
  Allocated,
  Peak,
  Reserved,
};
inline constexpr std::size_t kMeterCount = static_cast<std::size_t>(Meter::Reserved) + 1;

constexpr std::string_view name_of(Meter meter) {
  constexpr std::array<std::string_view, kMeterCount> kNames{
      "modelled_ps",      "compute_ps",     "matrix_ps",     "macs",
      "bytes_read",       "bytes_written",  "bytes_to_card", "bytes_to_host",
      "bytes_from_peers", "bytes_to_peers", "kernels",       "transfers",
      "capacity",         "allocated",      "peak",          "reserved"};
  return kNames[static_cast<std::size_t>(meter)];
}

/// Zero at first. May lie in memory that other processes map. Each meter has one writer at a time;
/// anybody reads.
class Meters {
 public:
  std::uint64_t operator[](Meter meter) const { return at(meter).load(std::memory_order_relaxed); }
  void set(Meter meter, std::uint64_t value) { at(meter).store(value, std::memory_order_relaxed); }
  void add(Meter meter, std::uint64_t more) { set(meter, (*this)[meter] + more); }

 private:
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<std::uint64_t>& at(Meter meter) { return values_[static_cast<std::size_t>(meter)]; }
  const std::atomic<std::uint64_t>& at(Meter meter) const {
    return values_[static_cast<std::size_t>(meter)];
  }
  std::array<std::atomic<std::uint64_t>, kMeterCount> values_{};
};

}  // namespace spyre::device_sim
