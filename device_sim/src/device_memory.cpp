// spyre/device_sim/device_memory.cpp — splits the capacity over regions and counts what is in use.
#include "device_memory.h"

#include <algorithm>

#include "spyre/base/error.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

Bytes capacity_of(const DeviceSpec& spec) {
  return spec.capacity == 0_B ? Bytes{machine_memory().count / 2} : spec.capacity;
}

/// A piece lies in one region, so small cards get fewer regions rather than small ones.
std::uint64_t region_count(const DeviceSpec& spec) {
  const std::uint64_t that_fit =
      capacity_of(spec).count / std::max<std::uint64_t>(spec.min_region.count, 1);
  return std::clamp<std::uint64_t>(that_fit, 1, static_cast<std::uint64_t>(spec.regions));
}

/// The region's runs, of which only those that are not allocated are recorded, without gaps.
void append_runs(const Region& region, std::size_t index, std::vector<MemoryRun>& all) {
  const RegionId id{static_cast<std::uint16_t>(index)};
  std::vector<MemoryRun> known;
  const auto note = [&](MemoryRun::State state) {
    return [&known, id, state](Bytes offset, Bytes length) {
      known.push_back({{id, offset, length}, state});
    };
  };
  region.blocks().visit_free_runs(note(MemoryRun::State::Free));
  region.blocks().visit_kept_runs(note(MemoryRun::State::Kept));
  std::ranges::sort(known, {}, [](const MemoryRun& run) { return run.piece.offset; });
  Bytes end;
  const auto allocated_until = [&](Bytes next) {
    if (end < next) all.push_back({{id, end, next - end}, MemoryRun::State::Allocated});
  };
  for (const MemoryRun& run : known) {
    allocated_until(run.piece.offset);
    all.push_back(run);
    end = run.piece.offset + run.piece.length;
  }
  allocated_until(region.blocks().range());
}

}  // namespace

DeviceMemory::DeviceMemory(const DeviceSpec& spec) {
  const std::uint64_t count = region_count(spec);
  const Bytes length{capacity_of(spec).count / count};
  regions_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    regions_.emplace_back(length, spec.block);
    bases_.push_back(regions_.back().data());
    stats_.capacity += regions_.back().length();
  }
}

Allocation DeviceMemory::allocate(Bytes size) {
  Allocation allocation{.pieces = std::vector<Piece>(1), .length = size};
  Piece& piece = allocation.pieces.front();
  const Lock lock(mutex_);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const std::optional<Bytes> offset = regions_[i].allocate(size);
    if (!offset) continue;
    piece = {.region = {static_cast<std::uint16_t>(i)},
             .offset = *offset,
             .length = regions_[i].rounded(size)};
    note_allocation(piece.length);
    log(LogChannel::Alloc, 2,
        [&] { return str("allocate ", size, ": region ", i, " offset ", offset->count); });
    return allocation;
  }
  fail(size);
}

void DeviceMemory::free(const Allocation& allocation) {
  if (allocation.empty()) return;
  const Lock lock(mutex_);
  for (const Piece& piece : allocation.pieces) {
    regions_[piece.region.value].free(piece.offset, piece.length);
    stats_.allocated -= piece.length;
  }
  stats_.pieces -= allocation.pieces.size();
  ++stats_.frees;
  --stats_.live;
  log(LogChannel::Alloc, 2, [&] { return str("free ", allocation.length); });
}

void DeviceMemory::note_allocation(Bytes length) {
  stats_.allocated += length;
  stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
  stats_.peak_reserved = std::max(stats_.peak_reserved, reserved());
  ++stats_.allocations;
  ++stats_.live;
  ++stats_.pieces;
}

Bytes DeviceMemory::reserved() const {
  Bytes sum;
  for (const Region& region : regions_) sum += region.committed();
  return sum;
}

Bytes DeviceMemory::largest_free() const {
  Bytes largest;
  for (const Region& region : regions_) largest = std::max(largest, region.largest_free());
  return largest;
}

void DeviceMemory::fail(Bytes size) const {
  throw OutOfDeviceMemory(str("device memory: cannot allocate ", size, "; free ",
                              stats_.capacity - stats_.allocated, " of ", stats_.capacity,
                              ", largest free block ", largest_free(), ", ", regions_.size(),
                              regions_.size() == 1 ? " region" : " regions",
                              "; try a larger SPYRE_DEVICE_MEMORY or release tensors"));
}

MemoryStats DeviceMemory::stats() const {
  const Lock lock(mutex_);
  MemoryStats stats = stats_;
  stats.reserved = reserved();
  stats.largest_free = largest_free();
  return stats;
}

std::vector<MemoryRun> DeviceMemory::runs() const {
  const Lock lock(mutex_);
  std::vector<MemoryRun> all;
  for (std::size_t i = 0; i < regions_.size(); ++i) append_runs(regions_[i], i, all);
  return all;
}

void DeviceMemory::reset_peak() {
  const Lock lock(mutex_);
  stats_.peak_allocated = stats_.allocated;
  stats_.peak_reserved = reserved();
}

Bytes DeviceMemory::trim() {
  const Lock lock(mutex_);
  Bytes given_back;
  for (Region& region : regions_) given_back += region.trim();
  return given_back;
}

}  // namespace spyre::device_sim
