"""How a case is measured: both devices in turn, warm, synchronized, checked, with page faults and spread."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import torch

Step = Callable[[], object]
WARM_UP = 3
ROUNDS = 9
FEW_ROUNDS = 5  # for steps that take longer than a round should
ROUND_SECONDS = 0.08
DEVICES = ("cpu", "spyre")


def wait(device: str) -> None:
    if device == "spyre":
        torch.spyre.synchronize()


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@dataclass
class Timing:
    """Seconds per step of one device over all rounds."""

    rounds: list[float] = field(default_factory=list)
    faults_per_step: float = 0.0
    cold: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        low, _, high = statistics.quantiles(self.rounds, n=4)
        return (high - low) / 2 / self.median


@dataclass
class Result:
    """One line of the table. `ratio` below 1 means faster than CPU eager."""

    name: str
    question: str
    seconds: float
    ratio: float | None = None
    spread: float = 0.0
    cold_seconds: float | None = None
    cold_ratio: float | None = None
    faults_per_step: float | None = None
    gate: str = ""
    passed: bool | None = None
    notes: dict[str, float | str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def seconds_of(step: Step, device: str, count: int) -> float:
    """Every step's result is held until it is there: what nobody holds is dead, and a lazy device would skip it."""
    start = time.perf_counter()
    for _ in range(count):
        held = step()
        wait(device)
        del held
    return (time.perf_counter() - start) / count


def interleaved(steps: dict[str, Step]) -> dict[str, Timing]:
    """A B A B …, so that a change in the machine's mood meets both."""
    timings = {device: Timing() for device in steps}
    counts = {}
    for device, step in steps.items():
        wait(device)
        timings[device].cold = seconds_of(step, device, 1)
        warm = min(seconds_of(step, device, 1) for _ in range(WARM_UP))
        counts[device] = max(1, int(ROUND_SECONDS / warm))
    rounds = FEW_ROUNDS if min(counts.values()) == 1 else ROUNDS
    faults = dict.fromkeys(steps, 0)
    for _ in range(rounds):
        for device, step in steps.items():
            before = page_faults()
            timings[device].rounds.append(seconds_of(step, device, counts[device]))
            faults[device] += page_faults() - before
    for device, timing in timings.items():
        timing.faults_per_step = faults[device] / (rounds * counts[device])
    return timings


def steady_counters(step: Step) -> dict[str, float]:
    """Hit rate and compiles of ten warm steps."""
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    seconds_of(step, "spyre", 10)
    stats = torch.spyre.stats()
    plans = stats["plan_cache"]
    asked = plans["hits"] + plans["misses"]
    return {
        "plan_hit_rate": plans["hits"] / asked if asked else 1.0,
        "kernels_compiled": stats["kernels_compiled"],
        "fallbacks": sum(stats["fallbacks"].values()),
        "ops_per_kernel": stats["ops_planned"] / stats["kernel_launches"] if stats["kernel_launches"] else 0.0,
    }


def largest_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative to the largest number that is expected."""
    scale = expected.abs().max().clamp_min(1e-30)
    return ((found.cpu().double() - expected.double()).abs().max() / scale).item()


def compare(name: str, question: str, make: Callable[[str], Step], tolerance: float = 1e-4) -> Result:
    """`make(device)` gives a step that returns a tensor. First steps of both devices must agree, in the same run."""
    steps = {device: make(device) for device in DEVICES}
    timings = interleaved(steps)
    error = largest_error(make("spyre")(), make("cpu")())
    if not error <= tolerance:
        raise AssertionError(f"{name}: results differ from CPU by {error:.1e} of the largest, allowed {tolerance:.0e}")
    ours, theirs = timings["spyre"], timings["cpu"]
    return Result(
        name,
        question,
        seconds=ours.median,
        ratio=ours.median / theirs.median,
        spread=max(ours.spread, theirs.spread),
        cold_seconds=ours.cold,
        cold_ratio=ours.cold / theirs.cold,
        faults_per_step=ours.faults_per_step,
        notes={"cpu_seconds": theirs.median, "largest_error": error, **steady_counters(steps["spyre"])},
    )
