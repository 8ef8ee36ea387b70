"""What the device did: counters, tables, timelines."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._engine import engine

__all__ = ["device_spec", "op_table", "reset_stats", "save_timeline", "stats", "timeline"]


def stats() -> dict[str, Any]:
    """Counters since start or reset_stats(): dispatches, flushes by reason, caches, launches, fallbacks, bytes."""
    counters: dict[str, Any] = engine().stats()
    return counters


def reset_stats() -> None:
    """Sets the counters to zero; caches keep their entries."""
    engine().reset_stats()


def op_table() -> list[dict[str, Any]]:
    """Every pointwise operator with its types, error bound and meaning."""
    rows: list[dict[str, Any]] = engine().op_table()
    return rows


def device_spec() -> dict[str, Any]:
    """The card: cores, memory in bytes, links, clocks; keys as in a SPYRE_DEVICE_SPEC file."""
    spec: dict[str, Any] = json.loads(engine().device_spec_json())
    return spec


def _events() -> list[dict[str, Any]]:
    recorded = json.loads(engine().timeline_json())
    events: list[dict[str, Any]] = recorded["traceEvents"] if isinstance(recorded, dict) else recorded
    return events


def save_timeline(path: str | os.PathLike[str], core_lanes: bool = False) -> None:
    """Writes what timeline() has recorded as a Chrome trace (chrome://tracing, ui.perfetto.dev)."""
    Path(path).write_text(engine().timeline_json(core_lanes), encoding="utf-8")


@contextlib.contextmanager
def timeline(path: str | os.PathLike[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Records the card's timeline inside; the list has the events afterwards, the file (if named) the Chrome trace."""
    events: list[dict[str, Any]] = []
    engine().record_timeline(True)
    try:
        yield events
    finally:
        engine().record_timeline(False)
        events.extend(_events())
        if path is not None:
            save_timeline(path)
