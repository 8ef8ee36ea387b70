// spyre/device_sim/peer_copy.cpp — open, send, received.
//
// Every wait leads to what was submitted before: the sender waits until the target is open, the receiver until the
// sender is done. So copies in all directions, from any threads, never wait in a circle, and whoever waits for one end
// can run all that it needs. The price of the sender is final when it is submitted, because the opening told when the
// target's link and stream are free; the receiver then has the very same time.
#include "spyre/device_sim/peer_copy.h"

#include <utility>

#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

PeerLink link_of(const Card& card) {
  return {card.spec().peer_gb_per_s, card.spec().peer_setup_ps};
}

}  // namespace

PeerCopyPoints copy_between(const PeerEnd& source, const PeerEnd& target,
                            const std::shared_ptr<const void>& keep_alive,
                            std::function<void()> arrived, Urgency urgency,
                            LossListener* listener) {
  ensure(source.piece.length == target.piece.length, "a copy's pieces are of one length");
  const TimelinePoint open = target.card.enqueue(
      target.stream, {.what = PostReceive{target.piece}, .name = "post_receive"}, urgency);
  const TimelinePoint sent =
      source.card.enqueue(source.stream,
                          {.what = Send{.source = source.piece,
                                        .target = target.card.address(target.piece),
                                        .to = link_of(target.card),
                                        .open = {&target.card, open},
                                        .arrived = std::move(arrived)},
                           .name = "send",
                           .listener = listener,
                           .part = kSendPart,
                           .keep_alive = keep_alive,
                           .chained = true},
                          urgency);
  const TimelinePoint received = target.card.enqueue(target.stream,
                                                     {.what = Receive{.target = target.piece,
                                                                      .from = link_of(source.card),
                                                                      .sent = {&source.card, sent}},
                                                      .name = "receive",
                                                      .listener = listener,
                                                      .part = kReceivePart,
                                                      .keep_alive = keep_alive,
                                                      .chained = true},
                                                     urgency);
  return {sent, received};
}

}  // namespace spyre::device_sim
