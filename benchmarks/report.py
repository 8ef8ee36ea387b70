"""What is measured, as lines of a Markdown table and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .gates import Verdict, ratio
from .machine import Limits
from .row import Row
from .session import Timings

SCHEMA = 1
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
NAME_WIDTH = 52


@dataclass(frozen=True)
class Measured:
    """A row with its timings and verdicts. Immutable."""

    row: Row
    timings: Timings
    verdicts: list[Verdict]

    def over(self, name: str) -> float | None:
        """spyre's time over a contestant's."""
        other = self.timings.get(name)
        return ratio(self.timings["spyre"].median, other.median) if other else None

    def as_json(self, limits: Limits | None) -> dict[str, Any]:
        seconds, binding = limits.seconds(self.row.cost) if limits else (0.0, "")
        return {
            "name": self.row.name,
            "question": self.row.question,
            "family": self.row.family,
            "cost": asdict(self.row.cost),
            "limit": {"seconds": seconds / self.row.steps_in_one, "binding": binding} if seconds else None,
            "timings": {name: timing.as_json() for name, timing in self.timings.items()},
            "verdicts": [verdict.as_json() for verdict in self.verdicts],
        }


def duration(seconds: float) -> str:
    for size, unit in UNITS:
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def optional(value: float | None, text: str) -> str:
    return "" if value is None else text.format(value)


def factor(value: float | None) -> str:
    return optional(value, "{:.2f}" if value is None or value < 9.995 else "{:.0f}")


def wording(verdict: dict[str, Any]) -> str:
    """One gate, as said in the table: 'time / eager 0.71 > 0.65 MISSED'."""
    figure = verdict["measure"] + (f" / {verdict['against']}" if verdict["against"] else "")
    sense = ">=" if verdict["measure"] == "share" else "<="
    shown, bound = (duration(v) if verdict["measure"] == "seconds" else f"{v:.3g}" for v in figures(verdict))
    return f"{figure} {shown}, gate {sense} {bound}"


def figures(verdict: dict[str, Any]) -> tuple[float, float]:
    return verdict["value"], verdict["bound"]


def columns(contestants: list[str]) -> list[str]:
    others = [f"/ {name}" for name in contestants if name != "spyre"]
    return ["what", "spyre", "spread", *others, "/ limit", "cold", "peak MiB", "faults", "gates"]


def line(result: dict[str, Any], contestants: list[str]) -> list[str]:
    """The cells of one row."""
    timings = result["timings"]
    ours = timings["spyre"]
    median, limit = ours["median"], result["limit"]
    ratios = [
        factor(ratio(median, timings[name]["median"])) if name in timings else ""
        for name in contestants
        if name != "spyre"
    ]
    missed = [wording(verdict) for verdict in result["verdicts"] if not verdict["met"]]
    verdict = f"MISSED: {'; '.join(missed)}" if missed else "met" if result["verdicts"] else ""
    failures = [f"{name}: {timing['failure']}" for name, timing in timings.items() if timing["failure"]]
    return [
        result["name"],
        duration(median) if median is not None else "FAILED",
        f"{ours['spread']:.0%}",
        *ratios,
        factor(ratio(median, limit["seconds"])) + f" {limit['binding']}" if limit and median else "",
        duration(ours["cold"]),
        f"{ours['peak_bytes'] / (1 << 20):.0f}",
        f"{ours['faults']:.0f}",
        "; ".join([verdict, *failures]),
    ]


def widths(contestants: list[str]) -> list[int]:
    return [NAME_WIDTH, *(max(7, len(title)) for title in columns(contestants)[1:-1]), 10]


def table_line(cells: list[str], wide: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, wide, strict=True)) + " |"


def table_head(contestants: list[str]) -> list[str]:
    wide = widths(contestants)
    return [table_line(columns(contestants), wide), table_line(["-" * width for width in wide], wide)]


def table(results: list[dict[str, Any]], contestants: list[str]) -> list[str]:
    wide = widths(contestants)
    return [*table_head(contestants), *(table_line(line(result, contestants), wide) for result in results)]


def merged(path: Path, document: dict[str, Any]) -> dict[str, Any]:
    """`document` with the rows of an earlier one that it has not: a run can be taken in pieces."""
    if not path.exists():
        return document
    earlier = json.loads(path.read_text())
    if earlier.get("schema") != SCHEMA:
        return document
    fresh = {result["name"]: result for result in document["results"]}
    kept = [fresh.pop(result["name"], result) for result in earlier["results"]]
    return {**document, "results": [*kept, *fresh.values()]}
