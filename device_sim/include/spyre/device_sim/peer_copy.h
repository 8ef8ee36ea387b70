// spyre/device_sim/peer_copy.h — a copy from the memory of one card to that of another.
#pragma once
#include <functional>
#include <memory>

#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

/// One side of a copy.
struct PeerEnd {
  Card& card;
  StreamId stream = {};
  Piece piece = {};
};

/// The parts of a copy, as their listener knows them.
inline constexpr std::uint32_t kSendPart = 0, kReceivePart = 1;

struct PeerCopyPoints {
  TimelinePoint source, target;  // when each side is free again
};

/// Submits the three operations: on both streams the copy comes after what was submitted before and before what is
/// submitted later; nobody waits. It takes both cards' links for the same modelled time. `arrived` is called on the
/// source's stream when the bytes are there. Pieces are of one length, and kept by `keep_alive` until both sides are
/// done, which owns `listener` if there is one. Nobody else submits to these streams meanwhile.
PeerCopyPoints copy_between(const PeerEnd& source, const PeerEnd& target,
                            const std::shared_ptr<const void>& keep_alive,
                            std::function<void()> arrived, Urgency urgency,
                            LossListener* listener = nullptr);

}  // namespace spyre::device_sim
