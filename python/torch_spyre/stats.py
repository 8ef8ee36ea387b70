"""What the device did: counters, tables, timelines."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._engine import DeviceLike, device_index, engine
from ._hooks import device_count

__all__ = ["device_spec", "op_table", "reset_stats", "save_timeline", "stats", "timeline"]


def stats(device: DeviceLike = None) -> dict[str, Any]:
    """Counters of a device since start or reset_stats(): dispatches, flushes by reason, caches, launches, bytes.

    Fallbacks are those of the whole process.
    """
    counters: dict[str, Any] = engine().stats(device_index(device))
    return counters


def reset_stats() -> None:
    """Sets the counters of every device to zero; caches keep their entries."""
    engine().reset_stats()


def op_table() -> list[dict[str, Any]]:
    """Every pointwise operator with its types, error bound and meaning."""
    rows: list[dict[str, Any]] = engine().op_table()
    return rows


def device_spec() -> dict[str, Any]:
    """The card: cores, memory in bytes, links, clocks; keys as in a SPYRE_DEVICE_SPEC file."""
    spec: dict[str, Any] = json.loads(engine().device_spec_json())
    return spec


# Of one card's trace: how many process numbers it has, and how many numbers of arrows are kept for it.
_PROCESSES, _ARROWS = 2, 2**32


def _of_card(event: dict[str, Any], index: int) -> dict[str, Any]:
    """An event of one card's trace among those of all."""
    moved = {**event, "pid": event["pid"] + index * _PROCESSES}
    if "id" in event:
        moved["id"] = event["id"] + index * _ARROWS
    if event["name"] == "process_name":
        moved["args"] = {"name": f"{event['args']['name']}, spyre:{index}"}
    return moved


def _trace(core_lanes: bool = False) -> dict[str, Any]:
    """What was recorded, as one Chrome trace. Each of several cards has processes of its own in it."""
    traces: list[dict[str, Any]] = [
        json.loads(engine().timeline_json(core_lanes, index)) for index in range(device_count())
    ]
    if len(traces) == 1:
        return traces[0]
    events = [_of_card(event, index) for index, trace in enumerate(traces) for event in trace["traceEvents"]]
    dropped = {name: sum(trace[name] for trace in traces) for name in ("dropped_modelled", "dropped_wall")}
    return {**traces[0], **dropped, "traceEvents": events}


def save_timeline(path: str | os.PathLike[str], core_lanes: bool = False) -> None:
    """Writes what timeline() has recorded of all cards as a Chrome trace (chrome://tracing, ui.perfetto.dev)."""
    text = engine().timeline_json(core_lanes) if device_count() == 1 else json.dumps(_trace(core_lanes))
    Path(path).write_text(text, encoding="utf-8")


def _record(on: bool) -> None:
    for index in range(device_count()):
        engine().record_timeline(on, index)


@contextlib.contextmanager
def timeline(path: str | os.PathLike[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Records the cards' timeline inside; the list has the events afterwards, the file (if named) the Chrome trace."""
    events: list[dict[str, Any]] = []
    _record(True)
    try:
        yield events
    finally:
        _record(False)
        events.extend(_trace()["traceEvents"])
        if path is not None:
            save_timeline(path)
