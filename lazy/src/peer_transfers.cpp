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
    const device_sim::PeerCopyPoints points = device_sim::copy_between(
        {source_.device.card, source_.id, source_.piece()},
        {target_.device.card, target_.id, target_.piece()}, keep_alive(),
        [&source = source_.part.buffer, &target = target_.part.buffer, &from, &to] {
          hand_over_fault(source, target, from.faults, to.faults);
        },
        Urgency::Background);
    from.add_transfer(points.source);
    to.add_transfer(points.target);
    return true;
  }

  /// Both buffers, until both cards are done with them.
  std::shared_ptr<const void> keep_alive() const {
    using Kept = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    return std::make_shared<const Kept>(retain(source_.part.buffer), retain(target_.part.buffer));
  }

  /// What was never computed can not be copied: whoever waits for the copy is told why. Runs on the card.
  static void hand_over_fault(Buffer& source, Buffer& target, StreamFaults& from,
                              StreamFaults& to) {
    if (BufferAccess::spoiled(source) == Spoiled::No) return;
    BufferAccess::set_spoiled(target, Spoiled::ByFault);
    if (std::optional<Fault> fault = from.take()) to.note(std::move(*fault));
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
