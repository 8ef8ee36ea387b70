// spyre/device_sim/region.h — one region of device memory: a mapping and its blocks.
#pragma once
#include <optional>
#include <vector>

#include "host_memory.h"
#include "spyre/device_sim/block_allocator.h"

namespace spyre::device_sim {

/// Confined to its owner's lock, except data(), which is immutable.
class Region {
 public:
  explicit Region(Bytes length);

  std::byte* data() const { return mapping_.data(); }
  Bytes length() const { return mapping_.length(); }
  std::optional<Bytes> take(Bytes length);
  /// From here on the host is taken to back what was taken there.
  void commit(Bytes offset, Bytes length);
  void free(Bytes offset, Bytes length) { blocks_.free(offset, length); }
  Bytes rounded(Bytes length) const { return blocks_.rounded(length); }
  Bytes largest_free() const { return blocks_.largest_free(); }
  Bytes allocated() const { return blocks_.allocated(); }
  std::vector<Block> blocks() const { return blocks_.blocks(); }
  /// Pages that have been committed since they were last given back to the system.
  Bytes committed() const { return committed_; }
  /// Gives free pages back to the system; how much.
  Bytes trim();

 private:
  HostMapping mapping_;
  BlockAllocator blocks_;
  std::vector<std::uint8_t> page_committed_;  // per huge page
  Bytes committed_{};
};

}  // namespace spyre::device_sim
