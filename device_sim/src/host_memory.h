// spyre/device_sim/host_memory.h — host address space that plays device memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "spyre/base/bytes.h"

namespace spyre::device_sim {

/// Transparent huge pages have this size; mappings start at a multiple of it.
inline constexpr Bytes kHugePage = 2_MiB;

enum class Pages : std::uint8_t { Huge, Small };

/// An anonymous mapping without reserved swap. Huge pages cost the least to touch and to address,
/// small ones make no more resident than is touched. Owns it. Immutable.
class HostMapping {
 public:
  /// Throws OutOfDeviceMemory if there is no address space.
  explicit HostMapping(Bytes length, Pages pages = Pages::Huge);
  ~HostMapping();
  HostMapping(HostMapping&& other) noexcept;
  HostMapping& operator=(HostMapping&&) = delete;

  std::byte* data() const { return data_; }
  Bytes length() const { return length_; }
  /// Gives these pages back to the system: they read as zero when next touched.
  void discard(Bytes offset, Bytes length) const;

 private:
  void* mapping_;
  Bytes mapped_, length_;
  std::byte* data_;
};

/// What this process may use: the machine's memory or its control group's limit, whichever is less.
Bytes machine_memory();

}  // namespace spyre::device_sim
