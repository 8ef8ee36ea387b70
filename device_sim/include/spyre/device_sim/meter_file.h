// spyre/device_sim/meter_file.h — the meters of a process's cards, where other processes find them.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/meters.h"

namespace spyre::device_sim {

/// A page of JSON, which says what follows: one block of 64-bit meters per card. The file is
/// <folder>/torch_spyre-<user>/<process>, for this user alone, and meant for a file system in
/// memory: cards write to it as they write to any memory. Where it cannot be had, the meters lie in
/// memory that nobody else sees. The file goes with remove(), or with whoever reads it after this
/// process has ended without. Internally synchronized.
class MeterFile {
 public:
  /// An empty folder: no file.
  MeterFile(const std::string& folder, std::span<const DeviceSpec> cards);
  ~MeterFile();
  MeterFile(const MeterFile&) = delete;
  MeterFile& operator=(const MeterFile&) = delete;

  Meters& meters(std::size_t card);
  /// Empty: there is no file.
  const std::string& path() const { return path_; }
  /// Removes the file; the meters stay. Does nothing in a forked child.
  void remove() noexcept;

 private:
  int open_file(const std::string& folder);

  std::string path_;
  std::size_t length_;
  std::byte* pages_;
  pid_t owner_;
};

}  // namespace spyre::device_sim
