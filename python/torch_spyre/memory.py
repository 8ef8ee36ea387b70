"""Memory of the device: torch.accelerator's functions, torch.cuda's mem_get_info, and the card's memory domains."""

from __future__ import annotations

from typing import Any

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

from ._engine import DeviceLike, device_index, engine
from .placement import directive, domains, pieces

__all__ = [
    "directive",
    "domains",
    "empty_cache",
    "empty_host_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "pieces",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of the card."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return free, total


def memory_snapshot(device: DeviceLike = None) -> list[dict[str, Any]]:
    """One segment for each region of the card, block by block; the keys are torch.cuda's, and some of the card's own.

    Addresses are offsets in the region. The last region has the card's programs.
    """
    segments: list[dict[str, Any]] = engine().memory_snapshot(device_index(device))
    return segments


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """A table of the card's memory for people: what is in use and reserved, now and at most, and how it is divided."""
    index = device_index(device)
    stats = memory_stats(index)
    free, total = mem_get_info(index)
    rows = [
        (name, stats[f"{key}.all.current"], stats[f"{key}.all.peak"])
        for name, key in (("allocated", "allocated_bytes"), ("reserved", "reserved_bytes"))
    ]
    lines = [f"spyre:{index}, {_mib(total)} in all, {_mib(free)} free", f"{'':12}{'now':>14}{'peak':>14}"]
    lines += [f"{name:12}{_mib(now):>14}{_mib(peak):>14}" for name, now, peak in rows]
    if not abbreviated:
        lines += [f"{'region':12}{'allocated':>14}{'largest free':>14}"]
        for segment in memory_snapshot(index):
            name = f"{segment['segment']} {segment['segment_type']}"
            lines += [f"{name:12}{_mib(segment['allocated_size']):>14}{_mib(segment['largest_free']):>14}"]
    return "\n".join(lines)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
