"""What was measured, as a document and as lines of a Markdown table made from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .gates import Verdict, ratio
from .machine import Limits
from .row import MIB, Row
from .session import Timings

SCHEMA = 1
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
NAME_WIDTH = 52
RECYCLED = ", recycled"

Document = dict[str, Any]  # as it stands in the JSON file
Result = dict[str, Any]  # one row of it


@dataclass(frozen=True)
class Measured:
    """A row with its timings and verdicts. Immutable."""

    row: Row
    timings: Timings
    verdicts: list[Verdict]

    def as_json(self, limits: Limits | None) -> Result:
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


def factor(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if value < 0.0995 else f"{value:.2f}" if value < 9.995 else f"{value:.0f}"


def mebibytes(count: float) -> str:
    return f"{count / MIB:.0f} MiB"


def whole(count: float) -> str:
    return f"{count:.0f}"


# How figures that are no ratios are said.
SHOWN = {"seconds": duration, "peak_bytes": mebibytes, "faults": whole, "kernel_launches": whole}


def over(result: Result, name: str, figure: str = "median") -> float | None:
    """spyre's figure over a contestant's; below 1 spyre is better."""
    other = result["timings"].get(name)
    if other is None or other["failure"]:
        return None
    return ratio(result["timings"]["spyre"][figure], other[figure])


def with_recycled(peer: str, contestants: Iterable[str], figure: Callable[[str], str]) -> str:
    """The peer's figure as installed, then, in parentheses, that of the same with recycled buffers."""
    if peer not in contestants:
        return ""
    if peer + RECYCLED not in contestants:
        return figure(peer)
    return f"{figure(peer)} ({figure(peer + RECYCLED)})"


def against(result: Result, peer: str) -> str:
    return with_recycled(peer, result["timings"], lambda name: factor(over(result, name)))


def over_limit(result: Result) -> str:
    limit, median = result["limit"], result["timings"]["spyre"]["median"]
    return f"{factor(median / limit['seconds'])} {limit['binding']}" if limit and median else ""


def verdict_text(verdict: dict[str, Any]) -> str:
    """One gate as it is said in the table: `time / eager 0.71 > 0.65`."""
    figure = verdict["measure"] + (f" / {verdict['against']}" if verdict["against"] else "")
    if verdict.get("of", "spyre") != "spyre":
        figure = f"{verdict['of']} {figure}"
    shown = SHOWN.get(verdict["measure"], factor)
    at_least = verdict["measure"] in {"share", "plan_hit_rate"}
    sense = (">=" if at_least else "<=") if verdict["met"] else ("<" if at_least else ">")
    return f"{figure} {shown(verdict['value'])} {sense} {shown(verdict['bound'])}"


def gates_text(result: Result) -> str:
    failures = [f"{name}: {timing['failure']}" for name, timing in result["timings"].items() if timing["failure"]]
    missed = [verdict_text(verdict) for verdict in result["verdicts"] if not verdict["met"]]
    if result["timings"]["spyre"]["failure"]:
        missed = ["failed"]
    verdict = f"MISSED: {'; '.join(missed)}" if missed else "met" if result["verdicts"] else ""
    return "; ".join([verdict, *failures])


def peers_of(contestants: list[str]) -> list[str]:
    return [name for name in contestants if name != "spyre" and not name.endswith(RECYCLED)]


def columns(contestants: list[str]) -> list[str]:
    peers = [f"x {peer} (recycled)" for peer in peers_of(contestants)]
    return ["what", "spyre", "spread", *peers, "x limit", "cold", "cold x compile", "peak x eager", "faults", "gates"]


def cells(result: Result, contestants: list[str]) -> list[str]:
    ours = result["timings"]["spyre"]
    peak = over(result, "eager", "peak_bytes")
    return [
        result["name"],
        duration(ours["median"]) if ours["median"] is not None else "FAILED",
        f"{ours['spread']:.0%}",
        *(against(result, peer) for peer in peers_of(contestants)),
        over_limit(result),
        duration(ours["cold"]),
        factor(over(result, "compile", "cold")),
        factor(peak) if ours["peak_bytes"] >= MIB else "–",
        f"{ours['faults']:.0f}",
        gates_text(result),
    ]


def widths(contestants: list[str]) -> list[int]:
    return [NAME_WIDTH, *(max(7, len(title)) for title in columns(contestants)[1:-1]), 10]


def table_line(line: list[str], wide: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)) + " |"


def table_head(contestants: list[str]) -> list[str]:
    wide = widths(contestants)
    return [table_line(columns(contestants), wide), table_line(["-" * width for width in wide], wide)]


def result_line(result: Result, contestants: list[str]) -> str:
    return table_line(cells(result, contestants), widths(contestants))


def table(document: Document) -> list[str]:
    contestants = document["contestants"]
    return [*table_head(contestants), *(result_line(result, contestants) for result in document["results"])]


def machine_text(document: Document) -> str:
    host, limits = document["machine"], document["limits"]
    said = f"{host['cpu']}, {host['threads']} of {host['processors']} processors, load {host['load']:.1f}"
    if limits is None:
        return said
    largest = max(limits["copy"], key=int)
    return (
        f"{said}; limits: copy {limits['copy'][largest] / 1e9:.1f} GB/s, triad {limits['triad'][largest] / 1e9:.1f} "
        f"GB/s, float32 {limits['float32_flops'] / 1e9:.0f} and bfloat16 {limits['bfloat16_flops'] / 1e9:.0f} GFLOP/s, "
        f"exp {limits['exponentials'] / 1e9:.1f} G/s"
    )


def merged(path: Path, document: Document) -> Document:
    """`document` with what an earlier one has and it has not: a run can be taken in pieces."""
    if not path.exists():
        return document
    earlier = json.loads(path.read_text())
    if earlier.get("schema") != SCHEMA:
        return document
    fresh = {result["name"]: result for result in document["results"]}
    kept = [fresh.pop(result["name"], result) for result in earlier["results"]]
    names = [*earlier["contestants"], *(n for n in document["contestants"] if n not in earlier["contestants"])]
    return {**document, "contestants": names, "results": [*kept, *fresh.values()]}
