"""The heavy extension module, loaded at first use, and how devices are named to it."""

from __future__ import annotations

import atexit
import functools
from types import ModuleType

import torch

DeviceLike = torch.device | str | int | None


@functools.cache
def engine() -> ModuleType:
    """torch_spyre._C; loading it registers kernels and starts nothing."""
    from . import _C

    atexit.register(_C.drain_at_exit)
    return _C


def device_index(device: DeviceLike = None) -> int:
    """The index that a device, string or number means; the current device for None and "spyre"."""
    if isinstance(device, int):
        index: int | None = device
    else:
        named = torch.device("spyre" if device is None else device)
        if named.type != "spyre":
            raise ValueError(f"expected a spyre device; got {named}")
        index = named.index
    if index is None:
        return int(engine().current_device())
    from ._hooks import device_count

    if not 0 <= index < device_count():
        raise RuntimeError(f"spyre: device index {index} is out of range; this process sees {device_count()} device(s)")
    return index
