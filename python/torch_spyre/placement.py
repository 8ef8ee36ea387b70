"""Which of a card's memory domains hold what: directives for new tensors, and where tensors are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ._engine import DeviceLike, device_index, engine

__all__ = ["directive", "domains", "pieces"]


@contextlib.contextmanager
def directive(policy: str, domains: Iterable[int] = (), device: DeviceLike = None) -> Iterator[None]:
    """Places the tensors that this thread makes on a card meanwhile, results of operators included.

    "default" takes any memory, "bind" only that of the named domains, "preferred" that first, and "interleave" puts an
    equal part into each of them (all, if none is named). Also a decorator. Scopes nest; the innermost counts.
    """
    index = device_index(device)
    previous = engine().exchange_directive(index, policy, list(domains))
    try:
        yield
    finally:
        engine().exchange_directive(index, *previous)


def pieces(tensor: torch.Tensor) -> list[dict[str, Any]]:
    """The pieces of device memory of a tensor's storage, in order: domain, region (segment), handle, offset, length.

    One, unless it is interleaved. What is recorded on the tensor is launched, for only then it has memory.
    """
    found: list[dict[str, Any]] = engine().memory_pieces(tensor)
    return found


def domains(device: DeviceLike = None) -> list[dict[str, Any]]:
    """A card's memory domains: their number, capacity, free bytes and regions."""
    found: dict[int, dict[str, Any]] = {}
    for segment in engine().memory_snapshot(device_index(device)):
        if segment["segment_type"] != "tensor":
            continue
        number = segment["domain"]
        row = found.setdefault(number, {"domain": number, "capacity": 0, "free": 0, "segments": []})
        row["capacity"] += segment["total_size"]
        row["free"] += segment["total_size"] - segment["allocated_size"]
        row["segments"].append(segment["segment"])
    return [found[number] for number in sorted(found)]
