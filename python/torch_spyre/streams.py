"""Streams and events: PyTorch's own classes, with the device filled in."""

from __future__ import annotations

from typing import Any

import torch

from ._engine import DeviceLike, device_index, engine

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_pool",
    "host_compute_stream",
    "host_compute_stream_by_id",
    "set_current_stream",
    "set_stream",
    "stream",
    "synchronize",
]


class Stream(torch.Stream):
    """An in-order queue of operations, one of 32 of its priority, handed out in turn.

    The priority (-1 high, 0 normal) orders nothing: a card has one queue.
    """

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **existing: Any) -> Stream:
        """The next stream of the device; with stream_id, device_index and device_type, the one that exists."""
        if existing:
            return super().__new__(cls, **existing)
        return super().__new__(cls, device=torch.device("spyre", device_index(device)), priority=priority)

    @property
    def id(self) -> int:
        """The stream's number on its device; 0 is the default stream."""
        return self.stream_id

    @property
    def priority(self) -> int:
        """-1 high, 0 normal."""
        return int(engine().stream_priority(self.device_index, self.stream_id))

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records an event at the end of the work that is queued now."""
        recorded = Event() if event is None else event
        recorded.record(self)
        return recorded

    def __repr__(self) -> str:
        return f"torch.spyre.Stream(device={self.device}, id={self.id}, priority={self.priority})"


class Event(torch.Event):
    """A point on a stream's timeline. Its time is the card's, in modelled milliseconds, and on request this host's."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Event:
        """Not recorded yet."""
        return super().__new__(
            cls, device="spyre", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
        )

    def __init__(self, enable_timing: bool = False, *_: bool, **__: bool) -> None:
        """Remembers whether times are asked for."""
        self.enable_timing = enable_timing

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Modelled milliseconds to a later event; both must be completed and made with enable_timing."""
        if not (self.enable_timing and getattr(end_event, "enable_timing", True)):
            raise ValueError("elapsed_time: both events need enable_timing=True")
        return float(engine().elapsed_milliseconds(self.event_id, end_event.event_id))

    def wall_elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds of this host from when it reached this event to when it reached the later one.

        How long the simulation took, which says nothing about the card. Both must be completed and made with
        enable_timing.
        """
        return float(engine().wall_milliseconds(self.event_id, end_event.event_id))


def _existing(index: int, stream_id: int) -> Stream:
    kind = int(torch._C._autograd.DeviceType.PrivateUse1.value)
    return Stream(stream_id=stream_id, device_index=index, device_type=kind)


def _own(stream: torch.Stream) -> Stream:
    return _existing(stream.device_index, stream.stream_id)


def current_stream(device: DeviceLike = None) -> Stream:
    """The thread's current stream on a device."""
    return _own(torch.accelerator.current_stream(device_index(device)))


def default_stream(device: DeviceLike = None) -> Stream:
    """Stream 0, current unless changed."""
    return _existing(device_index(device), 0)


def get_stream_from_pool(device: DeviceLike = None, priority: int = 0) -> Stream:
    """The next of the device's streams: 32 of each priority, handed out in turn. What Stream() gives as well."""
    return Stream(device, priority)


def host_compute_stream(device: DeviceLike = None) -> Stream:
    """The next of the streams on which the host prepares launches, handed out in turn.

    Four, unless TORCH_SPYRE_NUM_HOST_COMPUTE_STREAMS says otherwise.
    """
    index = device_index(device)
    return _existing(index, engine().host_stream(index))


def host_compute_stream_by_id(stream_id: int, device: DeviceLike = None) -> Stream:
    """The host's stream with this number (65 and on)."""
    found: dict[int, Stream] = {}
    while (stream := host_compute_stream(device)).id not in found:
        found[stream.id] = stream
    if stream_id not in found:
        raise ValueError(f"host_compute_stream_by_id: expected one of {sorted(found)}; got {stream_id}")
    return found[stream_id]


def set_current_stream(stream: torch.Stream) -> Stream:
    """Makes a stream the thread's current one on its device, and the device the current one; the stream before."""
    previous = current_stream(stream.device)
    set_stream(stream)
    return previous


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream the thread's current one on its device, and the device the current one."""
    if stream is not None:
        torch.accelerator.set_stream(stream)
        engine().exchange_device(stream.device_index)


class StreamContext:
    """Context manager: another current stream inside, and its device; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._previous: list[tuple[int, Stream]] = []

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            self._previous.append((int(engine().current_device()), current_stream(self.stream.device)))
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            device, stream = self._previous.pop()
            set_stream(stream)
            engine().exchange_device(device)


def stream(stream: torch.Stream | None) -> StreamContext:
    """with torch.spyre.stream(s): …"""
    return StreamContext(stream)


def synchronize(device: DeviceLike = None) -> None:
    """Waits for all work of a device, and raises what went wrong in it."""
    engine().synchronize(device_index(device))
