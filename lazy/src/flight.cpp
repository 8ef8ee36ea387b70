// spyre/lazy/flight.cpp — memory is taken before anything is changed, so that a full card leaves
// all as it was.
#include "flight.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "buffer_access.h"
#include "spoilage.h"
#include "spyre/base/error.h"

namespace spyre::lazy {
namespace {

constexpr Bytes kKeptArena = 16_KiB;  // of a slot, from launch to launch

/// Allocates one object, in the space that it was given.
template <class T> struct InPlace {
  using value_type = T;
  explicit InPlace(HandleSpace& s) : space(&s) {}
  template <class Other>
  InPlace(const InPlace<Other>& other) : space(other.space) {}  // NOLINT: allocators convert
  T* allocate(std::size_t count) {
    static_assert(sizeof(T) <= sizeof(HandleSpace) && alignof(T) <= alignof(HandleSpace));
    ensure(count == 1, "a handle is one object");
    return reinterpret_cast<T*>(space);
  }
  void deallocate(T*, std::size_t) {}
  friend bool operator==(const InPlace&, const InPlace&) = default;
  HandleSpace* space;
};

/// Gives allocations back unless it is told to keep them. `taken` is scratch space, empty between
/// uses.
class Reservation {
 public:
  using Taken = std::vector<std::pair<device_sim::Allocation*, device_sim::Allocation>>;

  Reservation(device_sim::Card& card, Taken& taken) : card_(card), taken_(taken) {}
  ~Reservation() {
    for (const auto& [owner, allocation] : taken_) card_.free(allocation);
    taken_.clear();
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  const device_sim::Piece& take(Buffer& buffer, const Directives& directives) {
    const Bytes size = std::max(buffer.size(), Bytes{1});
    const std::uint16_t directive = BufferAccess::directive(buffer);
    taken_.emplace_back(&BufferAccess::memory(buffer),
                        directive == 0
                            ? card_.allocate(size)
                            : card_.allocate({.size = size, .directive = directives[directive]}));
    return taken_.back().second.place;
  }
  void keep() {
    for (auto& [owner, allocation] : taken_) *owner = std::move(allocation);
    taken_.clear();
  }

 private:
  device_sim::Card& card_;
  Taken& taken_;
};

}  // namespace

Flight::~Flight() {
  if (!argument_memory_.empty()) card_.free(argument_memory_);
}

void Flight::reserve_arguments(std::size_t words) {
  image_.resize(words);
  const Bytes needed{words * sizeof(std::uint64_t)};
  if (needed <= argument_memory_.length) return;
  if (!argument_memory_.empty()) card_.free(std::exchange(argument_memory_, {}));
  argument_memory_ = card_.allocate(
      {.size = {std::bit_ceil(needed.count)}, .type = device_sim::MemoryType::Program});
}

std::shared_ptr<Arena> Flight::arena_for(Bytes size) const {
  if (size == Bytes{}) return arena_;
  if (arena_ && arena_->size() >= size) return arena_;
  if (size > kKeptArena)
    if (std::shared_ptr<Arena> latest = latest_arena_.lock(); latest && latest->size() >= size)
      return latest;
  return std::make_shared<Arena>(card_, size);
}

void Flight::place_buffers(std::shared_ptr<const LaunchPlan> plan, const Trace& trace) {
  reserve_arguments(plan->image.size());
  Reservation reservation(card_, taken_);
  const std::span<const BufferUse> buffers = trace.buffers();
  places_.resize(buffers.size());
  std::shared_ptr<Arena> arena = arena_for(plan->arena);
  for (const std::uint32_t b : plan->placed) {
    Buffer& buffer = *buffers[b].buffer;
    const Placement& placement = plan->placements[b];
    ensure(placement.kind == Placement::Kind::Given || buffers[b].first_block == 0,
           "what gets memory is seen whole");
    switch (placement.kind) {
      case Placement::Kind::None:
      case Placement::Kind::Lent: break;  // the lender's place is not known yet
      case Placement::Kind::Given:
        places_[b] = BufferAccess::piece(buffer, buffers[b].base(), buffer.size());
        break;
      case Placement::Kind::New: places_[b] = reservation.take(buffer, directives_); break;
      case Placement::Kind::Donated:
        places_[b] = BufferAccess::piece(*buffers[placement.donor].buffer, {}, buffer.size());
        break;
      case Placement::Kind::Arena:
        places_[b] = {arena->piece().region, arena->piece().offset + Bytes{placement.offset},
                      buffer.size()};
        break;
    }
  }
  reservation.keep();
  arena_ = std::move(arena);
  if (arena_ && arena_->size() > kKeptArena) latest_arena_ = arena_;
  for (const std::uint32_t b : plan->placed) {
    const Placement& placement = plan->placements[b];
    if (placement.kind == Placement::Kind::Lent) places_[b] = places_[placement.donor];
    if (placement.kind == Placement::Kind::Donated)
      BufferAccess::memory(*buffers[b].buffer) =
          std::exchange(BufferAccess::memory(*buffers[placement.donor].buffer), {});
  }
  plan_ = std::move(plan);
}

void Flight::begin(Trace& trace) {
  skip_nothing();
  trace.hand_over(buffers_, params_, sources_);
}

void Flight::begin(const Trace& trace, std::vector<std::uint64_t> params) {
  skip_nothing();
  buffers_.assign(trace.buffers().begin(), trace.buffers().end());
  for (const BufferUse& use : buffers_) use.buffer->add_reference();
  params_ = std::move(params);
  sources_.assign(trace.sources().begin(), trace.sources().end());
}

void Flight::skip_nothing() {
  any_skipped_.store(false, std::memory_order_relaxed);
  without_arguments_.store(false, std::memory_order_relaxed);
  unchecked_.store(false, std::memory_order_relaxed);
  skip_.assign(plan_->steps.size(), 0);
}

std::shared_ptr<const void> Flight::handle() {
  // One handle at a time, and its end comes before the slot is used again.
  return {static_cast<const void*>(this), [this](const void*) { finish(); },
          InPlace<std::byte>(handle_space_)};
}

device_sim::Piece Flight::part(const Touch& touch) const {
  const device_sim::Piece& place = places_[touch.buffer];
  const auto begin = static_cast<std::int64_t>(place.offset.count) + touch.begin;
  return {place.region,
          {static_cast<std::uint64_t>(begin)},
          {static_cast<std::uint64_t>(touch.end - touch.begin)}};
}

device_sim::Footprint Flight::footprint_of(const LaunchStep& step) const {
  device_sim::Footprint footprint;
  for (const Touch& t : step.touches)
    (t.write ? footprint.writes : footprint.reads).push_back(part(t));
  return footprint;
}

std::vector<std::uint64_t> Flight::traffic_of(const LaunchStep& step) const {
  static const device_sim::Directive kAnywhere;
  device_sim::DomainTraffic traffic(card_.domains());
  bool directed = false;
  for (const Touch& t : step.touches) {
    const BufferUse& use = buffers_[t.buffer];
    // What only lives during the launch has its place in the arena.
    const bool in_arena = plan_->placements[t.buffer].kind == Placement::Kind::Arena;
    const std::uint16_t number = in_arena ? 0 : BufferAccess::directive(*use.buffer);
    directed = directed || number != 0;
    const auto base = static_cast<std::int64_t>(use.base().count);
    traffic.add(number == 0 ? kAnywhere : directives_[number], use.buffer->size(),
                {{static_cast<std::uint64_t>(base + t.begin)},
                 {static_cast<std::uint64_t>(base + t.end)},
                 t.bytes()});
  }
  return directed ? traffic.bytes() : std::vector<std::uint64_t>{};
}

device_sim::Piece Flight::arguments_of(const LaunchStep& step) const {
  const device_sim::Piece& whole = argument_memory_.place;
  return {whole.region,
          whole.offset + Bytes{step.first_word * sizeof(std::uint64_t)},
          {step.words * sizeof(std::uint64_t)}};
}

device_sim::Piece Flight::arguments() const {
  device_sim::Piece whole = argument_memory_.place;
  whole.length = {image_.size() * sizeof(std::uint64_t)};
  return whole;
}

void Flight::fill_image() {
  std::copy(plan_->image.begin(), plan_->image.end(), image_.begin());
  for (const AddressPatch& patch : plan_->addresses)
    image_[patch.at] =
        reinterpret_cast<std::uint64_t>(card_.address(places_[patch.buffer])) + patch.offset;
  for (const ParamPatch& patch : plan_->params) image_[patch.at] = params_[patch.param];
  const auto self = reinterpret_cast<std::uint64_t>(static_cast<StepMonitor*>(this));
  for (const std::uint32_t at : plan_->headers) image_[at] = self;
  if (!unchecked_.load(std::memory_order_relaxed)) call_off_spoiled();
}

void Flight::check_once() noexcept {
  const Lock lock(failure_);
  if (unchecked_.load(std::memory_order_relaxed)) call_off_spoiled();
  unchecked_.store(false, std::memory_order_release);
}

/// To be called when earlier operations of the stream are done: what they spoiled is known then.
void Flight::call_off_spoiled() {
  std::vector<bool> spoiled;
  for (const std::uint32_t b : plan_->placed) {
    if (BufferAccess::spoiled(*buffers_[b].buffer) == Spoiled::No) continue;
    spoiled.resize(buffers_.size());
    spoiled[b] = true;
  }
  if (!spoiled.empty()) call_off(std::move(spoiled), 0);
}

void Flight::failed(std::uint32_t step, std::exception_ptr fault) noexcept {
  const Lock lock(failure_);
  note_fault(step, std::move(fault));
  spoil(step);
}

void Flight::lost(std::uint32_t part, const std::exception_ptr& fault) noexcept {
  const Lock lock(failure_);
  if (fault != nullptr) note_fault(part == kArguments ? 0 : part, fault);
  if (part == kArguments) without_arguments_.store(true, std::memory_order_release);
  else spoil(part);
}

void Flight::note_fault(std::uint32_t step, std::exception_ptr fault) {
  const LaunchStep& failing = plan_->steps[step];
  std::uint32_t source = 0;
  for (const std::uint32_t node : failing.nodes)
    if (source == 0) source = sources_[node];
  faults_.note({std::move(fault), failing.name, source});
}

/// What the step should have written, and what later steps make of it.
void Flight::spoil(std::uint32_t step) {
  std::vector<bool> spoiled(buffers_.size());
  for (std::size_t b = 0; b < buffers_.size(); ++b)
    spoiled[b] = BufferAccess::spoiled(*buffers_[b].buffer) != Spoiled::No;
  for (const Touch& t : plan_->steps[step].touches)
    if (t.write) spoiled[t.buffer] = true;
  call_off(std::move(spoiled), step + 1);
}

void Flight::call_off(std::vector<bool> spoiled, std::size_t first_step) {
  std::vector<std::uint64_t> bytes;
  for (const BufferUse& use : buffers_) bytes.push_back(use.buffer->size().count);
  spread_spoilage(plan_->steps, first_step, bytes, spoiled, skip_);
  any_skipped_.store(true, std::memory_order_release);
  for (const std::uint32_t b : plan_->placed) {
    // A buffer that had content before keeps it, as if the program had stopped at the failed
    // operation.
    if (!spoiled[b]) BufferAccess::set_spoiled(*buffers_[b].buffer, Spoiled::No);
    else if (plan_->placements[b].kind != Placement::Kind::Given)
      BufferAccess::set_spoiled(*buffers_[b].buffer, Spoiled::ByFault);
  }
}

void Flight::finish() noexcept {
  pool_.drop_references(buffers_);
  buffers_.clear();
  params_.clear();
  sources_.clear();
  plan_.reset();
  if (arena_ && arena_->size() > kKeptArena) arena_.reset();
}

}  // namespace spyre::lazy
