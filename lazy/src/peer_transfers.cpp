// spyre/lazy/peer_transfers.cpp — bytes from a buffer of one card to one of another.
//
// Each device has a lock of its own, and a thread that gets a device ready may have to wait on it, so nobody holds one
// lock while he waits for what the other guards: both sides are made ready one after the other, then both locks are
// taken, in one order everywhere, and if both are still ready the copy is submitted.
#include <functional>
#include <memory>
#include <utility>

#include "buffer_access.h"
#include "device_state.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/peer_copy.h"

namespace spyre::lazy {

using device_sim::Urgency;

/// Keeps both buffers until both cards are done with them, and hears of what went wrong on the way.
/// Owned by the operations; streams outlive what is in flight on them. Immutable; what it tells is
/// internally synchronized.
class PeerGuard final : public device_sim::LossListener {
 public:
  struct End {
    Buffer& buffer;
    StreamFaults& faults;
  };
  PeerGuard(End source, End target, bool makes) : source_(source), target_(target), makes_(makes) {
    source_.buffer.add_reference();
    target_.buffer.add_reference();
  }
  ~PeerGuard() {
    source_.buffer.drop_reference();
    target_.buffer.drop_reference();
  }
  PeerGuard(const PeerGuard&) = delete;
  PeerGuard& operator=(const PeerGuard&) = delete;

  void lost(std::uint32_t part, const std::exception_ptr& fault) noexcept override {
    const bool sends = part == device_sim::kSendPart;
    if (fault != nullptr)
      (sends ? source_ : target_).faults.note({fault, sends ? "send" : "receive", 0});
    if (makes_) BufferAccess::set_spoiled(target_.buffer, Spoiled::ByFault);
  }
  bool calls_off(std::uint32_t) const noexcept override { return false; }

  /// What was never computed can not be copied: whoever waits for the copy is told why.
  void hand_over_fault() {
    if (BufferAccess::spoiled(source_.buffer) == Spoiled::No) return;
    BufferAccess::set_spoiled(target_.buffer, Spoiled::ByFault);
    if (std::optional<Fault> fault = source_.faults.take()) target_.faults.note(std::move(*fault));
  }

 private:
  End source_, target_;
  bool makes_;  // all of the target's content
};

/// One copy from card to card. Confined to the call.
class PeerTransfer {
 public:
  struct Side {
    Device::State& device;
    StreamId id;
    BufferPart part;
    Bytes length;
    device_sim::Piece piece() const {
      return BufferAccess::piece(part.buffer, part.offset, length);
    }
  };

  PeerTransfer(Side source, Side target) : source_(source), target_(target) {}

  void run() {
    check_range(source_);
    check_range(target_);
    while (true) {
      make_source_ready();
      make_target_ready();
      if (submit_if_ready()) return;
    }
  }

 private:
  static void check_range(const Side& side) {
    const Bytes end = side.part.offset + side.length, size = side.part.buffer.size();
    if (end > size)
      throw InvalidArgument(str("copy between cards: bytes ", side.part.offset.count, " to ",
                                end.count, " of a buffer of ", size));
  }
  bool writes_all() const { return target_.length == target_.part.buffer.size(); }

  void make_source_ready() {
    Device::State& d = source_.device;
    Lock lock(d.mutex);
    StreamState& s = d.card_stream(source_.id);
    Buffer& buffer = source_.part.buffer;
    BufferAccess::raise_if_spoiled(buffer);
    if (d.pending_writes(buffer))
      d.flush_uses(lock, s, buffer, FlushReason::DeviceToDevice, Urgency::Background);
    d.give_memory(lock, s, buffer, false, Urgency::Background);
    d.await_unless_awaited(lock, s, s.oldest_transfer());
  }

  void make_target_ready() {
    Device::State& d = target_.device;
    Lock lock(d.mutex);
    StreamState& s = d.card_stream(target_.id);
    Buffer& buffer = target_.part.buffer;
    d.flush_uses(lock, s, buffer, FlushReason::DeviceToDevice, Urgency::Background);
    d.give_memory(lock, s, buffer, writes_all(), Urgency::Background);
    d.await_unless_awaited(lock, s, s.oldest_transfer());
  }

  /// False if another thread has used a side since it was made ready.
  bool submit_if_ready() SPYRE_NO_THREAD_SAFETY_ANALYSIS {
    const bool source_first = std::less<>()(&source_.device, &target_.device);
    const Lock first(source_first ? source_.device.mutex : target_.device.mutex);
    const Lock second(source_first ? target_.device.mutex : source_.device.mutex);
    StreamState& from = source_.device.card_stream(source_.id);
    StreamState& to = target_.device.card_stream(target_.id);
    if (!from.has_awaited(from.oldest_transfer()) || !to.has_awaited(to.oldest_transfer()) ||
        source_.device.pending_writes(source_.part.buffer) ||
        target_.device.pending_in(target_.part.buffer) != nullptr)
      return false;
    if (writes_all()) BufferAccess::set_spoiled(target_.part.buffer, Spoiled::No);
    const auto guard =
        std::make_shared<PeerGuard>(PeerGuard::End{source_.part.buffer, from.faults},
                                    PeerGuard::End{target_.part.buffer, to.faults}, writes_all());
    const device_sim::PeerCopyPoints points = device_sim::copy_between(
        {source_.device.card, source_.id, source_.piece()},
        {target_.device.card, target_.id, target_.piece()}, guard,
        [guard] { guard->hand_over_fault(); }, Urgency::Background, guard.get());
    from.add_transfer(points.source);
    to.add_transfer(points.target);
    return true;
  }

  Side source_, target_;
};

void Device::copy_to_peer(StreamId stream, BufferPart source, StreamId peer_stream,
                          BufferPart target, Bytes length) {
  if (length.count == 0) return;
  PeerTransfer({*state_, stream, source, length},
               {*target.buffer.device().state_, peer_stream, target, length})
      .run();
}

}  // namespace spyre::lazy
