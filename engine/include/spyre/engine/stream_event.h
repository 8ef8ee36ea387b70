// spyre/engine/stream_event.h — events as points on a stream's timeline, behind PyTorch's opaque pointers.
#pragma once
#include <c10/core/Stream.h>

#include "spyre/base/ids.h"

namespace spyre::engine {

/// Throws InvalidArgument for a stream that this card does not have.
StreamId stream_of(const c10::Stream& stream);

/// Makes `*event` if it is null; recording again moves it to a new point. Ends the stream's trace.
/// `timed`: it also notes when it is reached on this host.
void record_event(void** event, const c10::Stream& stream, bool timed);
/// Later work of `stream` starts after the event. A null event was never recorded: nothing to wait for.
void block_on_event(void* event, const c10::Stream& stream);
bool event_reached(void* event);
void synchronize_event(void* event);
void destroy_event(void* event) noexcept;
/// On the card's clock. Both events must have been reached.
double modelled_milliseconds_between(void* first, void* second);
/// On this host's clock: how long the simulation took from one to the other. Both must be timed.
double wall_milliseconds_between(void* first, void* second);

}  // namespace spyre::engine
