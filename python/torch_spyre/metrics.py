"""The card's meters as the numbers that a monitor shows, under the names of upstream's monitor.

Rates and shares are over the card's modelled time, which stands still while nothing is submitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._engine import DeviceLike, device_index, engine
from .stats import device_spec

__all__ = ["FIELDS", "between", "metrics"]

Meters = Mapping[str, int]
Metrics = dict[str, float | None]

# name -> (unit, meaning). None stands for what the simulation has no number for.
FIELDS: dict[str, tuple[str, str]] = {
    "pwr": ("W", "modelled power"),
    "gtemp": ("C", "temperature: not modelled"),
    "busy": ("%", "of the time in which the compute queue ran a kernel"),
    "rdmem": ("GB/s", "read from device memory by kernels"),
    "wrmem": ("GB/s", "written to it"),
    "rxpci": ("GB/s", "received from the host and from other cards"),
    "txpci": ("GB/s", "sent to them"),
    "rdrdma": ("GB/s", "read over the network: not simulated"),
    "wrrdma": ("GB/s", "written over it: not simulated"),
    "rsvmem": ("MiB", "device memory that this machine really holds"),
    "actmem": ("MiB", "device memory in use"),
    "peakmem": ("MiB", "the most of it"),
    "pt_active": ("%", "of what the matrix units could have multiplied"),
}

_MIB = 2**20
_PS_PER_NS = 1000
_PERCENT = 100


def between(before: Meters, after: Meters, card: Mapping[str, Any]) -> Metrics:
    """What happened from one reading of a card's meters to a later one; the empty reading is the card's start."""
    elapsed = after.get("modelled_ps", 0) - before.get("modelled_ps", 0)

    def per_ps(meter: str) -> float:
        return (after.get(meter, 0) - before.get(meter, 0)) / elapsed if elapsed > 0 else 0.0

    def gb_per_s(meter: str) -> float:
        return per_ps(meter) * _PS_PER_NS

    watts = card["idle_watts"] + card["mac_pj"] * per_ps("macs")  # a picojoule a picosecond is a watt
    watts += card["memory_pj_per_byte"] * (per_ps("bytes_read") + per_ps("bytes_written"))
    return {
        "pwr": min(watts, card["cap_watts"]),
        "gtemp": None,
        "busy": _PERCENT * per_ps("compute_ps"),
        "rdmem": gb_per_s("bytes_read"),
        "wrmem": gb_per_s("bytes_written"),
        "rxpci": gb_per_s("bytes_to_card") + gb_per_s("bytes_from_peers"),
        "txpci": gb_per_s("bytes_to_host") + gb_per_s("bytes_to_peers"),
        "rdrdma": None,
        "wrrdma": None,
        "rsvmem": after.get("reserved", 0) / _MIB,
        "actmem": after.get("allocated", 0) / _MIB,
        "peakmem": after.get("peak", 0) / _MIB,
        "pt_active": _PERCENT * per_ps("matrix_ps"),
    }


def metrics(device: DeviceLike = None, since: Meters | None = None) -> Metrics:
    """What spyre-smi shows of a card of this process, over its whole run or since an earlier meters().

    Starts nothing: zeros, and an idle card's power, before the device is first used.
    """
    return between(since or {}, meters(device), device_spec())


def meters(device: DeviceLike = None) -> dict[str, int]:
    """The totals behind metrics(): bytes, kernels, modelled picoseconds since the card started."""
    values: dict[str, int] = engine().meters(device_index(device))
    return values
