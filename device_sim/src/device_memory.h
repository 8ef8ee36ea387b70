// spyre/device_sim/device_memory.h — all regions of a card.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "region.h"
#include "spyre/base/mutex.h"
#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/memory.h"
#include "spyre/device_sim/meters.h"

namespace spyre::device_sim {

/// Regions of equal length for tensors, and one for programs, the last of the address space. A
/// piece lies in one region. What is interleaved has a piece in each of several regions, and its
/// bytes in the window: host memory in which all pieces of an allocation are one range, as the
/// card's own addresses are where it computes. Internally synchronized.
class DeviceMemory {
 public:
  explicit DeviceMemory(const DeviceSpec& spec);

  /// nullopt: there is no such memory. Nothing is asked for, nothing is given: no pieces. Throws
  /// InvalidArgument for a directive that this card cannot follow.
  std::optional<Allocation> try_allocate(const AllocationRequest& request) SPYRE_EXCLUDES(mutex_);
  /// Throws OutOfDeviceMemory.
  Allocation allocate(const AllocationRequest& request) SPYRE_EXCLUDES(mutex_);
  Allocation allocate(Bytes size) { return allocate(AllocationRequest{.size = size}); }
  void free(const Allocation& allocation) SPYRE_EXCLUDES(mutex_);
  /// Counts the failure and throws OutOfDeviceMemory.
  [[noreturn]] void fail(const AllocationRequest& request) SPYRE_EXCLUDES(mutex_);

  std::byte* address(const Piece& piece) const {
    return bases_[piece.region.value] + piece.offset.count;
  }
  /// Of a piece of an allocation.
  LogicalAddress logical_address(const Piece& piece) const;
  std::uint16_t domains() const { return domains_; }
  /// The domain that a piece of an allocation lies in.
  std::uint16_t domain_of(const Piece& piece) const { return domain_of(piece.region.value); }

  MemoryStats stats() const SPYRE_EXCLUDES(mutex_);
  MemorySnapshot snapshot() const SPYRE_EXCLUDES(mutex_);
  void note_relieved() SPYRE_EXCLUDES(mutex_);
  void reset_peak() SPYRE_EXCLUDES(mutex_);
  void reset_totals() SPYRE_EXCLUDES(mutex_);
  Bytes trim() SPYRE_EXCLUDES(mutex_);
  /// From here on `meters` shows the state.
  void publish(Meters& meters) SPYRE_EXCLUDES(mutex_);

 private:
  enum class RegionPolicy : std::uint8_t { FirstFit, MostFree, LeastFree };

  bool is_program(const Piece& piece) const { return piece.region == program_; }
  std::uint64_t handle_of(RegionId region) const;
  std::uint16_t domain_of(std::size_t region) const;
  Region& region_of(const Piece& piece) SPYRE_REQUIRES(mutex_);
  std::optional<Piece> take(std::size_t region, Bytes size) SPYRE_REQUIRES(mutex_);
  /// From the regions whose domain `admits`, in the order of the policy.
  template <class Admits>
  std::optional<Piece> take_from(Bytes size, const Admits& admits) SPYRE_REQUIRES(mutex_);
  std::optional<Piece> take_from_domain(std::uint16_t domain, Bytes size) SPYRE_REQUIRES(mutex_);
  /// In one piece.
  std::optional<Piece> take_directed(Bytes size, const Directive& directive) SPYRE_REQUIRES(mutex_);
  void give_back(std::span<const Piece> pieces) SPYRE_REQUIRES(mutex_);
  /// All of them, or none.
  std::vector<Piece> take_chunks(const std::vector<DomainShare>& shares) SPYRE_REQUIRES(mutex_);
  bool place(Allocation& allocation, const AllocationRequest& request) SPYRE_REQUIRES(mutex_);
  bool interleave(Allocation& allocation, const AllocationRequest& request) SPYRE_REQUIRES(mutex_);
  std::vector<std::size_t> regions_in_order() const SPYRE_REQUIRES(mutex_);
  void show_state() const SPYRE_REQUIRES(mutex_);
  void note_allocation(const Allocation& allocation) SPYRE_REQUIRES(mutex_);
  void poison(const Piece& piece) const;
  Bytes reserved() const SPYRE_REQUIRES(mutex_);
  Bytes largest_free() const SPYRE_REQUIRES(mutex_);

  const bool virtual_function_, poisons_;
  const RegionPolicy policy_;
  const std::uint16_t domains_;
  const Bytes span_;
  const RegionId program_, window_;
  std::vector<std::byte*> bases_;  // by RegionId; immutable
  mutable Mutex mutex_;
  std::vector<Region> regions_ SPYRE_GUARDED_BY(mutex_);   // for tensors; by RegionId
  std::vector<Region> programs_ SPYRE_GUARDED_BY(mutex_);  // the one for programs
  std::vector<Region> windows_ SPYRE_GUARDED_BY(mutex_);   // one if there are several domains
  MemoryStats stats_ SPYRE_GUARDED_BY(mutex_);
  Meters* meters_ SPYRE_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace spyre::device_sim
