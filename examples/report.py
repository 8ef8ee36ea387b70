"""What one run cost: the table that each example prints at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

T = TypeVar("T")
TRACE_FOLDER = Path("build")


@dataclass
class Timed:
    """Wall seconds of a `with stopwatch()` block, known at its end."""

    seconds: float = 0.0


def synchronize(device: str) -> None:
    """Waits for the device, so that a clock read afterwards counts the work and not only its recording."""
    if device != "cpu":
        torch.accelerator.synchronize()


@contextmanager
def stopwatch(device: str) -> Iterator[Timed]:
    timed = Timed()
    synchronize(device)
    start = time.perf_counter()
    yield timed
    synchronize(device)
    timed.seconds = time.perf_counter() - start


def observed(device: str, name: str, work: Callable[[], T]) -> tuple[T, float, dict | None]:
    """Runs `work`; returns its result, the seconds it took and, on spyre, the counters. Writes a Chrome trace."""
    if device != "spyre":
        with stopwatch(device) as timed:
            result = work()
        return result, timed.seconds, None
    TRACE_FOLDER.mkdir(exist_ok=True)
    torch.spyre.reset_stats()
    with torch.spyre.timeline(str(TRACE_FOLDER / f"{name}.trace.json")), stopwatch(device) as timed:
        result = work()
    return result, timed.seconds, torch.spyre.stats()


def hit_rate(cache: dict) -> str:
    asked = cache["hits"] + cache["misses"]
    return f"{cache['hits'] / asked:.1%} of {asked:,}" if asked else "never asked"


def largest(counts: dict[str, int], shown: int = 5) -> str:
    """The largest counts of a table, as one line."""
    ranked = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    parts = [f"{name} {count:,}" for count, name in ranked[:shown]]
    if len(ranked) > shown:
        parts.append(f"and {len(ranked) - shown} more")
    return ", ".join(parts) or "none"


def counter_rows(stats: dict) -> list[tuple[str, str]]:
    launches = stats["kernel_launches"]
    return [
        ("dispatches recorded", f"{stats['dispatches']:,}"),
        ("plan cache hits", hit_rate(stats["plan_cache"])),
        ("kernel cache hits", hit_rate(stats["kernel_cache"])),
        ("kernels compiled", f"{stats['kernels_compiled']:,} in {stats['compile_ns'] / 1e6:,.1f} ms"),
        ("kernel launches", f"{launches:,}"),
        ("ops per kernel", f"{stats['ops_planned'] / launches:.2f}" if launches else "no kernel ran"),
        ("flushes", largest(stats["flushes"])),
        ("fallbacks", largest(stats["fallbacks"])),
        ("copied to / from the card", f"{stats['bytes_h2d'] / 1e6:,.1f} MB / {stats['bytes_d2h'] / 1e6:,.1f} MB"),
        ("modelled time on the card", f"{stats['modelled_ns'] / 1e6:,.2f} ms"),
    ]


def print_table(title: str, rows: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")


def print_report(
    title: str, name: str, seconds: dict[str, float], checks: list[tuple[str, str]], stats: dict | None
) -> None:
    """`seconds`: per device; `checks`: what was compared with CPU and how it came out."""
    rows = [(f"time on {device}", f"{took:.2f} s") for device, took in seconds.items()]
    rows += checks
    if stats is not None:
        rows += counter_rows(stats)
        rows.append(("timeline (Chrome, Perfetto)", str(TRACE_FOLDER / f"{name}.trace.json")))
    print_table(title, rows)
