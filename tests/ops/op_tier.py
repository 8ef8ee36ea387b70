"""How the device ran a call: fused, by the library, on the host, or without any kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")
TIERS = ("view", "fused", "library", "host")  # a call counts as the last of these that occurs in it


@dataclass(frozen=True)
class Ran:
    tier: str = TIERS[0]
    on_host: tuple[str, ...] = ()


NOTHING = Ran()


def counters() -> dict[str, Any]:
    return torch.spyre.stats()


def watched(call: Callable[[], Result]) -> tuple[Result, Ran]:
    """The call, which ends with everything done, and how it ran."""
    before = counters()
    result = call()
    after = counters()
    on_host = tuple(op for op, n in after["fallbacks"].items() if n > before["fallbacks"].get(op, 0))
    if on_host:
        return result, Ran("host", on_host)
    for tier, counter in (("library", "library_launches"), ("fused", "kernel_launches")):
        if after[counter] > before[counter]:
            return result, Ran(tier)
    return result, NOTHING
