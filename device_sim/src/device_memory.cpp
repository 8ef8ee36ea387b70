// spyre/device_sim/device_memory.cpp — splits the capacity over regions and counts what is in use.
#include "device_memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "metering.h"
#include "spyre/base/error.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr int kPoison = 0xFF;  // a NaN in every float format, -1 in every integer

/// So many times what the card has: the window is host addresses only, and holes in it should never
/// be why a request finds no place.
constexpr std::uint64_t kWindowRoom = 2;

Bytes capacity_of(const DeviceSpec& spec) {
  const auto cards = static_cast<std::uint64_t>(spec.machine_cards);
  return spec.capacity == 0_B ? Bytes{machine_memory().count / 2 / cards} : spec.capacity;
}

/// Of the address space, the one for programs included.
std::uint64_t region_budget(const DeviceSpec& spec) {
  const int regions =
      spec.function == "vf" ? std::min(spec.vf_regions, spec.regions) : spec.regions;
  return static_cast<std::uint64_t>(std::max(regions, 2));
}

/// The bytes of each of `count` regions of at most `span`. The machine's memory may be more than a
/// card addresses; what was asked for may not.
Bytes region_length(const DeviceSpec& spec, std::uint64_t count, Bytes span) {
  if (spec.capacity.count / count > span.count)
    throw InvalidArgument(str("device memory: asked for ", spec.capacity, "; a card addresses ",
                              Bytes{span.count * count}, ", ", count, " regions of ", span));
  return std::min(Bytes{capacity_of(spec).count / count}, span);
}

/// A piece lies in one region, so small cards get fewer regions rather than small ones.
std::uint64_t tensor_regions(const DeviceSpec& spec) {
  const std::uint64_t most = region_budget(spec) - 1;
  if (static_cast<std::uint64_t>(spec.memory_domains) > most)
    throw InvalidArgument(str("device memory: ", spec.memory_domains,
                              " memory domains; a region belongs to one, and this card has ", most,
                              " for tensors"));
  const std::uint64_t that_fit =
      capacity_of(spec).count / std::max<std::uint64_t>(spec.min_region.count, 1);
  const auto domains = static_cast<std::uint64_t>(spec.memory_domains);
  return std::clamp<std::uint64_t>(std::max(that_fit, domains), 1, most);
}

}  // namespace

DeviceMemory::DeviceMemory(const DeviceSpec& spec)
    : virtual_function_(spec.function == "vf"),
      poisons_(spec.poison != 0),
      policy_(spec.region_policy == "most_free"    ? RegionPolicy::MostFree
              : spec.region_policy == "least_free" ? RegionPolicy::LeastFree
                                                   : RegionPolicy::FirstFit),
      domains_(static_cast<std::uint16_t>(spec.memory_domains)),
      span_(spec.region_span),
      program_{static_cast<std::uint16_t>(region_budget(spec) - 1)},
      window_{static_cast<std::uint16_t>(region_budget(spec))},
      bases_(region_budget(spec) + 1) {
  const std::uint64_t count = tensor_regions(spec);
  const Bytes length = region_length(spec, count, span_);
  regions_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    regions_.emplace_back(length);
    bases_[i] = regions_.back().data();
    stats_.capacity += regions_.back().length();
  }
  programs_.emplace_back(spec.program_capacity);
  bases_[program_.value] = programs_.front().data();
  stats_.program_capacity = programs_.front().length();
  if (domains_ == 1) return;
  windows_.emplace_back(stats_.capacity * kWindowRoom);
  bases_[window_.value] = windows_.front().data();
}

std::uint64_t DeviceMemory::handle_of(RegionId region) const {
  ensure(region != window_, "only pieces have addresses on the card");
  return virtual_function_ ? region.value : region.value * span_.count;
}

LogicalAddress DeviceMemory::logical_address(const Piece& piece) const {
  return {handle_of(piece.region), piece.offset};
}

std::uint16_t DeviceMemory::domain_of(std::size_t region) const {
  return static_cast<std::uint16_t>(region % domains_);
}

Region& DeviceMemory::region_of(const Piece& piece) {
  if (is_program(piece)) return programs_.front();
  return piece.region == window_ ? windows_.front() : regions_[piece.region.value];
}

std::optional<Piece> DeviceMemory::take(std::size_t region, Bytes size) {
  const std::optional<Bytes> offset = regions_[region].take(size);
  if (!offset) return std::nullopt;
  return Piece{{static_cast<std::uint16_t>(region)}, *offset, regions_[region].rounded(size)};
}

std::vector<std::size_t> DeviceMemory::regions_in_order() const {
  std::vector<std::size_t> order(regions_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto free_of = [&](std::size_t i) SPYRE_REQUIRES(mutex_) {
    return regions_[i].length() - regions_[i].allocated();
  };
  if (policy_ == RegionPolicy::MostFree) std::ranges::stable_sort(order, std::greater{}, free_of);
  if (policy_ == RegionPolicy::LeastFree) std::ranges::stable_sort(order, {}, free_of);
  return order;
}

template <class Admits>
std::optional<Piece> DeviceMemory::take_from(Bytes size, const Admits& admits) {
  std::optional<Piece> piece;
  if (policy_ == RegionPolicy::FirstFit) {
    for (std::size_t i = 0; i < regions_.size() && !piece; ++i)
      if (admits(domain_of(i))) piece = take(i, size);
    return piece;
  }
  for (const std::size_t i : regions_in_order()) {
    if (admits(domain_of(i))) piece = take(i, size);
    if (piece) break;
  }
  return piece;
}

std::optional<Piece> DeviceMemory::take_from_domain(std::uint16_t domain, Bytes size) {
  return take_from(size, [&](std::uint16_t d) { return d == domain; });
}

std::optional<Piece> DeviceMemory::take_directed(Bytes size, const Directive& directive) {
  const auto any = [](std::uint16_t) { return true; };
  const auto named = [&](std::uint16_t d) { return std::ranges::count(directive.domains, d) != 0; };
  switch (directive.policy) {
    case MemoryPolicy::Bind: return take_from(size, named);
    case MemoryPolicy::Preferred:
      if (const std::optional<Piece> preferred = take_from(size, named)) return preferred;
      [[fallthrough]];
    default: return take_from(size, any);
  }
}

void DeviceMemory::give_back(std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) region_of(piece).free(piece.offset, piece.length);
}

std::vector<Piece> DeviceMemory::take_chunks(const std::vector<DomainShare>& shares) {
  std::vector<Piece> chunks;
  for (const DomainShare& share : shares) {
    const std::optional<Piece> chunk = take_from_domain(share.domain, share.end - share.begin);
    if (!chunk) {
      give_back(chunks);
      return {};
    }
    chunks.push_back(*chunk);
  }
  return chunks;
}

bool DeviceMemory::interleave(Allocation& allocation, const AllocationRequest& request) {
  const std::vector<DomainShare> shares =
      interleaved(request.size, request.directive.domains, domains_);
  std::vector<Piece> chunks = take_chunks(shares);
  if (chunks.empty()) return false;
  if (chunks.size() == 1) {
    allocation.place = chunks.front();
    return true;
  }
  Region& window = windows_.front();
  const std::optional<Bytes> offset = window.take(request.size);
  if (!offset) {
    give_back(chunks);
    return false;
  }
  allocation.place = {window_, *offset, window.rounded(request.size)};
  allocation.chunks = std::move(chunks);
  return true;
}

bool DeviceMemory::place(Allocation& allocation, const AllocationRequest& request) {
  if (request.directive.policy == MemoryPolicy::Interleave && request.type == MemoryType::Tensor) {
    if (!interleave(allocation, request)) return false;
  } else if (request.type == MemoryType::Program) {
    const std::optional<Bytes> offset = programs_.front().take(request.size);
    if (!offset) return false;
    allocation.place = {program_, *offset, programs_.front().rounded(request.size)};
  } else {
    const std::optional<Piece> piece = take_directed(request.size, request.directive);
    if (!piece) return false;
    allocation.place = *piece;
  }
  region_of(allocation.place).commit(allocation.place.offset, allocation.place.length);
  return true;
}

std::optional<Allocation> DeviceMemory::try_allocate(const AllocationRequest& request) {
  if (request.directive.policy != MemoryPolicy::Default) check(request.directive, domains_);
  Allocation allocation{.length = request.size};
  if (request.size == 0_B) return allocation;
  {
    const Lock lock(mutex_);
    if (!place(allocation, request)) return std::nullopt;
    note_allocation(allocation);
  }
  poison(allocation.place);
  log(LogChannel::Alloc, 2, [&] {
    return str("allocate ", request.size, ": region ", allocation.place.region, " offset ",
               allocation.place.offset.count);
  });
  return allocation;
}

Allocation DeviceMemory::allocate(const AllocationRequest& request) {
  std::optional<Allocation> allocation = try_allocate(request);
  if (!allocation) fail(request);
  return std::move(*allocation);
}

void DeviceMemory::free(const Allocation& allocation) {
  if (allocation.empty()) return;
  const Piece& place = allocation.place;
  poison(place);
  const Lock lock(mutex_);
  give_back({&place, 1});
  give_back(allocation.chunks);
  log(LogChannel::Alloc, 2, [&] { return str("free ", allocation.length); });
  if (is_program(place)) {
    stats_.program_allocated -= place.length;
    return;
  }
  stats_.allocated -= place.length;
  stats_.total_freed += place.length;
  stats_.requested -= allocation.length;
  stats_.pieces -= allocation.pieces().size();
  ++stats_.frees;
  --stats_.live;
  show_state();
}

void DeviceMemory::publish(Meters& meters) {
  const Lock lock(mutex_);
  meters_ = &meters;
  show_state();
}

void DeviceMemory::show_state() const {
  if (meters_ != nullptr) meter(*meters_, stats_, reserved());
}

void DeviceMemory::note_allocation(const Allocation& allocation) {
  const Bytes taken = allocation.place.length;
  if (is_program(allocation.place)) {
    stats_.program_allocated += taken;
    stats_.program_peak = std::max(stats_.program_peak, stats_.program_allocated);
    return;
  }
  stats_.allocated += taken;
  stats_.total_allocated += taken;
  stats_.requested += allocation.length;
  stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
  stats_.peak_requested = std::max(stats_.peak_requested, stats_.requested);
  stats_.peak_reserved = std::max(stats_.peak_reserved, reserved());
  stats_.pieces += allocation.pieces().size();
  ++stats_.allocations;
  stats_.peak_live = std::max(stats_.peak_live, ++stats_.live);
  show_state();
}

void DeviceMemory::poison(const Piece& piece) const {
  if (poisons_) std::memset(address(piece), kPoison, piece.length.count);
}

Bytes DeviceMemory::reserved() const {
  Bytes sum;
  for (const Region& region : regions_) sum += region.committed();
  for (const Region& window : windows_) sum += window.committed();
  return sum;
}

Bytes DeviceMemory::largest_free() const {
  Bytes largest;
  for (const Region& region : regions_) largest = std::max(largest, region.largest_free());
  return largest;
}

void DeviceMemory::fail(const AllocationRequest& request) {
  const Lock lock(mutex_);
  ++stats_.failures;
  const bool program = request.type == MemoryType::Program;
  const std::vector<Region>& regions = program ? programs_ : regions_;
  Bytes capacity, allocated, largest;
  std::string map;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const Region& region = regions[i];
    capacity += region.length();
    allocated += region.allocated();
    largest = std::max(largest, region.largest_free());
    map += str(i == 0 ? " (" : ", ", region.length() - region.allocated(), " free of ",
               region.length());
  }
  throw OutOfDeviceMemory(
      str("device memory: cannot allocate ", request.size, text_of(request.directive), "; free ",
          capacity - allocated, " of ", capacity, ", largest free block ", largest, ", ",
          regions.size(), program ? " program" : "", regions.size() == 1 ? " region" : " regions",
          map, "); try a larger SPYRE_DEVICE_MEMORY or release tensors"));
}

MemoryStats DeviceMemory::stats() const {
  const Lock lock(mutex_);
  MemoryStats stats = stats_;
  stats.reserved = reserved();
  stats.largest_free = largest_free();
  return stats;
}

void DeviceMemory::note_relieved() {
  const Lock lock(mutex_);
  ++stats_.relieved;
}

void DeviceMemory::reset_peak() {
  const Lock lock(mutex_);
  stats_.peak_allocated = stats_.allocated;
  stats_.peak_requested = stats_.requested;
  stats_.peak_reserved = reserved();
  stats_.peak_live = stats_.live;
  stats_.program_peak = stats_.program_allocated;
}

void DeviceMemory::reset_totals() {
  const Lock lock(mutex_);
  stats_.allocations = stats_.frees = stats_.failures = stats_.relieved = 0;
  stats_.total_allocated = stats_.total_freed = {};
}

Bytes DeviceMemory::trim() {
  const Lock lock(mutex_);
  Bytes given_back = programs_.front().trim();
  for (Region& region : regions_) given_back += region.trim();
  for (Region& window : windows_) given_back += window.trim();
  return given_back;
}

MemorySnapshot DeviceMemory::snapshot() const {
  const Lock lock(mutex_);
  MemorySnapshot out;
  const auto add = [&](const Region& region, RegionId id, MemoryType type, std::uint16_t domain) {
    RegionSnapshot row{.region = id,
                       .handle = handle_of(id),
                       .type = type,
                       .domain = domain,
                       .length = region.length(),
                       .allocated = region.allocated(),
                       .committed = region.committed(),
                       .largest_free = region.largest_free(),
                       .blocks = region.blocks()};
    out.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < regions_.size(); ++i)
    add(regions_[i], {static_cast<std::uint16_t>(i)}, MemoryType::Tensor, domain_of(i));
  add(programs_.front(), program_, MemoryType::Program, 0);
  return out;
}

}  // namespace spyre::device_sim
