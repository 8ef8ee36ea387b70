"""Failures on request: what does a program do when the card fails?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from ._engine import DeviceLike, device_index, engine

__all__ = ["InjectedFaults", "inject_faults"]


@dataclass
class InjectedFaults:
    """How many operations were made to fail, once the context has ended."""

    failed: int = 0


@contextlib.contextmanager
def inject_faults(device: DeviceLike = None, *, times: int = 1, **after: int) -> Iterator[InjectedFaults]:
    """Makes operations of a card fail inside: `inject_faults(kernel=2)` lets two more kernels run and fails the third.

    Kinds are allocation, host_to_device, device_to_host, kernel, callback and peer_copy; arguments of launches are
    written by a callback and sent like other data. An allocation that fails finds no memory, so that it is tried again
    as on a full card; the others raise RuntimeError at the next synchronizing call, as on a card that fails. `times`
    is how many fail in a row. What is still queued at the end of the context is run first.
    """
    index = device_index(device)
    report = InjectedFaults()
    try:
        for kind, count in after.items():
            if count < 0 or times < 1:
                given = f"{kind}={count}, {times=}"
                raise ValueError(f"inject_faults: expected counts from 0 and times from 1; got {given}")
            engine().inject_fault(index, kind, count, times)
        yield report
    finally:
        engine().drain(index)
        report.failed = engine().stop_injecting(index)
