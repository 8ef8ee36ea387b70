"""What has to hold, as data: bounds for families of rows, and for every row. Nothing that misses one is hidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .machine import Limits
from .row import MIB, Row
from .session import Timing, Timings

# Differences in peak memory below this are the libraries' own.
SMALL_PEAK = 16 * MIB


@dataclass(frozen=True)
class Gate:
    """`measure` says which figure of `of` is divided by the same figure of `against`; it may be `bound` at most.
    (`slowdown` is the other way round: the time of `against` over spyre's.)

    Measures without `against`: seconds, peak_bytes, faults, share (of copy bandwidth), and counters by their names.
    Immutable.
    """

    measure: str
    bound: float
    against: str = ""
    of: str = "spyre"

    @property
    def at_least(self) -> bool:
        return self.measure in {"share", "plan_hit_rate"}

    def admits(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True)
class Verdict:
    gate: Gate
    value: float
    met: bool

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self.gate), "value": self.value, "met": self.met}


def steady(eager: float | None = None, compiled: float | None = None, jax: float | None = None) -> tuple[Gate, ...]:
    """Bounds on time over each peer's time, both as installed."""
    return against(("eager", eager), ("compile", compiled), ("jax", jax))


def recycled(eager: float, compiled: float, jax: float) -> tuple[Gate, ...]:
    """The same against peers whose allocator keeps its buffers."""
    return against(("eager, recycled", eager), ("compile, recycled", compiled), ("jax, recycled", jax))


def against(*bounds: tuple[str, float | None]) -> tuple[Gate, ...]:
    return tuple(Gate("time", bound, name) for name, bound in bounds if bound is not None)


FAMILIES: dict[str, tuple[Gate, ...]] = {
    "add from C++": (Gate("seconds", 250e-9),),
    "add from Python": steady(eager=0.65),
    "plan hit, 16": (Gate("seconds", 1e-6),),
    "plan hit, 256": (Gate("seconds", 3e-6),),
    "flush to result": (Gate("seconds", 2.5e-6),),
    "compile": (Gate("seconds", 1e-3),),
    "chain": (*steady(0.05, 0.25, 0.25), *recycled(0.1, 0.5, 0.3), Gate("share", 0.85)),
    "rows from primitives": (*steady(0.4, 0.4, 0.4), *recycled(0.3, 0.7, 0.5), Gate("share", 0.75)),
    "chain bound by exp": (*steady(0.05, 0.25, 0.25), *recycled(0.1, 0.5, 0.3)),
    "rows fused": (*steady(0.4, 0.4, 0.4), *recycled(0.3, 0.7, 0.5)),
    "rows ATen": (*steady(0.4, 0.4, 0.4), *recycled(0.9, 0.7, 0.5), Gate("share", 0.75)),
    "transcendental": (*steady(0.5, 0.9, 0.9), Gate("slowdown", 1.6, "avx2")),
    "attention": (*steady(0.3, 0.9),),
    "SDPA": steady(0.9),
    "networks": steady(0.85, 0.9),
    "networks, bf16": steady(0.6, 0.6),
    "training": steady(0.8, jax=0.95),
    "overhead bound": steady(0.6, 0.8),
    "Adam": steady(0.3, 0.7),
    "sizes": (Gate("cold", 1.1, "eager"), Gate("cold", 0.05, "compile"), Gate("kernels_since_start", 4)),
    "scalar reads": steady(1.3),
    "overlap": (Gate("time / longest part", 1.15),),
    "tail on a busy machine": (Gate("time / longest part", 3.0),),
}
# These do not depend on the machine's noise: tests read them, too.
COUNTED = (Gate("plan_hit_rate", 0.99), Gate("kernels_compiled", 0), Gate("faults", 10))
EVERY_ROW = (Gate("time", 1.05, "eager"), Gate("cold", 0.02, "compile"), Gate("peak", 1.1, "eager"), *COUNTED)

# Of every row, where compiled code takes part: never slower than eager code on the same device, and quick to compile.
COMPILED = (Gate("time", 1.0, "spyre", "spyre-compile"), Gate("cold", 0.25, "compile", "spyre-compile"))
# The same where eager code meets its own bounds on time.
COMPILED_TOO = (Gate("time", 0.9, "compile", "spyre-compile"),)


def gates_of(row: Row) -> tuple[Gate, ...]:
    """A row's own bounds, and those of every row where it has none for the same figure."""
    counted = {"kernel_launches": row.kernels, "peak_bytes": row.peak_bytes}
    bounds = (Gate(measure, bound) for measure, bound in counted.items() if bound is not None)
    own = (*FAMILIES.get(row.family, ()), *bounds)
    bounded = {(gate.measure, gate.against) for gate in own}
    return (*own, *(gate for gate in EVERY_ROW if (gate.measure, gate.against) not in bounded))


def ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def peak_ratio(ours: Timing, theirs: Timing) -> float | None:
    if max(ours.peak_bytes, theirs.peak_bytes) < SMALL_PEAK:
        return None
    return ours.peak_bytes / max(theirs.peak_bytes, 1)


def compared(gate: Gate, ours: Timing, theirs: Timing | None) -> float | None:
    if theirs is None or theirs.failure is not None:
        return None
    match gate.measure:
        case "time":
            return ratio(ours.median, theirs.median)
        case "slowdown":
            return ratio(theirs.median, ours.median)
        case "cold":
            return ratio(ours.cold, theirs.cold)
        case "peak":
            return peak_ratio(ours, theirs)
    raise ValueError(f"no such measure: {gate.measure}")


def share_of_bandwidth(row: Row, ours: Timing, limits: Limits | None) -> float | None:
    if limits is None or not row.cost.bytes or not ours.median:
        return None
    return row.cost.bytes / ours.median / limits.bandwidth(row.cost.bytes)


def value_of(gate: Gate, row: Row, timings: Timings, limits: Limits | None, medians: Mapping[str, float]):
    """The figure that a gate bounds; None if this run did not measure what it needs."""
    ours = timings[gate.of]
    if gate.against:
        return compared(gate, ours, timings.get(gate.against))
    match gate.measure:
        case "seconds":
            return ours.median
        case "faults" | "peak_bytes":
            return getattr(ours, gate.measure)
        case "share":
            return share_of_bandwidth(row, ours, limits)
        case "time / longest part":
            parts = [medians[name] for name in row.parts if name in medians]
            return ratio(ours.median, max(parts)) if parts and len(parts) == len(row.parts) else None
    return ours.counters.get(gate.measure)


def judge(row: Row, timings: Timings, limits: Limits | None, medians: Mapping[str, float]) -> list[Verdict]:
    """`medians` has spyre's figures of the rows before this one. What failed meets nothing."""

    def verdicts_on(gates: Iterable[Gate]) -> Iterator[Verdict]:
        for gate in gates:
            if timings[gate.of].failure is not None:
                yield Verdict(gate, float("inf"), False)
            elif (value := value_of(gate, row, timings, limits, medians)) is not None:
                yield Verdict(gate, value, gate.admits(value))

    verdicts = [*verdicts_on(gates_of(row))]
    if "spyre-compile" in timings:
        in_time = all(verdict.met for verdict in verdicts if verdict.gate.measure == "time")
        verdicts += verdicts_on((*COMPILED, *(COMPILED_TOO if in_time else ())))
    return verdicts
