"""What upstream's programs ask the device beyond torch.cuda's questions: is it well, does it narrow numbers."""

from __future__ import annotations

import enum

import torch

from ._engine import DeviceLike, device_index, engine

__all__ = [
    "SpyreDeviceState",
    "SpyreStreamError",
    "get_device_state",
    "get_downcast_warning",
    "set_downcast_warning",
    "stream_get_error",
    "stream_get_error_string",
]


class SpyreStreamError(enum.Enum):
    """Whether a stream runs operations, or holds a fault until a synchronizing call raises it."""

    Success = 0
    Shutdown = 1


class SpyreDeviceState(enum.Enum):
    """What is known of a device without waiting for it."""

    Ok = 0
    NotInitialized = 1
    StreamError = 2


_MEANINGS = {
    SpyreStreamError.Success: "no fault",
    SpyreStreamError.Shutdown: "an operation failed; the next synchronizing call raises it, and the stream goes on",
}


def stream_get_error(stream: torch.Stream) -> SpyreStreamError:
    """Whether a stream holds a fault. Waits for nothing: what has not run yet has not failed."""
    faulted = engine().stream_faulted(stream.device_index, stream.stream_id)
    return SpyreStreamError.Shutdown if faulted else SpyreStreamError.Success


def stream_get_error_string(error: SpyreStreamError) -> str:
    """What a stream's state means."""
    return _MEANINGS[error]


def get_device_state(device: DeviceLike = None) -> SpyreDeviceState:
    """Whether a device runs, and any of its streams holds a fault. Starts nothing, waits for nothing."""
    if not engine().is_initialized():
        return SpyreDeviceState.NotInitialized
    faulted = engine().device_faulted(device_index(device))
    return SpyreDeviceState.StreamError if faulted else SpyreDeviceState.Ok


def get_downcast_warning() -> bool:
    """Whether the first int64 that the card keeps as int32 (`numerics="card"`) is told of."""
    return bool(engine().get_downcast_warning())


def set_downcast_warning(warn: bool) -> None:
    """Switches that warning, which TORCH_SPYRE_DOWNCAST_WARN sets at the start. Raises TypeError unless a bool."""
    engine().set_downcast_warning(warn)
