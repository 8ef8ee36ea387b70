"""Memory of the device: torch.accelerator's functions under their names, and torch.cuda's mem_get_info."""

from __future__ import annotations

import torch
from torch.accelerator.memory import (
    empty_cache,
    empty_host_cache,
    get_memory_info,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)

from ._engine import DeviceLike, device_index

__all__ = [
    "empty_cache",
    "empty_host_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of the card."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return free, total
