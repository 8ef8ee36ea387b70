"""One run: every contestant's process kept alive, each row opened in all of them and measured in turn."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy

from .peers import Contestant, PeerError, Worker
from .row import Row

SETTLE_SECONDS = 0.005  # lets the threads of whoever ran last stop spinning
COLD_SECONDS = 240


@dataclass(frozen=True)
class Effort:
    """How long is measured. A round is one turn of one contestant."""

    rounds: int = 7
    few_rounds: int = 3  # for steps that take longer than a round should
    round_seconds: float = 0.06
    warm_up: int = 3


QUICK = Effort(rounds=3, few_rounds=2, round_seconds=0.02, warm_up=2)


@dataclass
class Timing:
    """One contestant on one row. Seconds are per unit of work."""

    cold: float = 0.0
    rounds: list[float] = field(default_factory=list)
    faults: float = 0.0
    peak_bytes: int = 0
    error: float | None = None
    counters: dict[str, float] = field(default_factory=dict)
    failure: str | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.rounds) if self.rounds and self.failure is None else None

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        if len(self.rounds) < 2:
            return 0.0
        low, middle, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (high - low) / 2 / middle

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "median": self.median, "spread": self.spread}


Timings = dict[str, Timing]


def largest_error(found: Sequence[numpy.ndarray], expected: Sequence[numpy.ndarray]) -> float:
    """Relative to the largest number that is expected; infinite where shapes or NaNs differ."""
    if [array.shape for array in found] != [array.shape for array in expected]:
        return float("inf")
    worst = 0.0
    for ours, theirs in zip(found, expected, strict=True):
        if not numpy.array_equal(numpy.isfinite(ours), numpy.isfinite(theirs)):
            return float("inf")
        finite = numpy.isfinite(theirs)
        if finite.any():
            scale = max(float(numpy.abs(theirs[finite]).max()), 1e-30)
            worst = max(worst, float(numpy.abs(ours[finite] - theirs[finite]).max()) / scale)
    return worst


def load(path: Path) -> list[numpy.ndarray]:
    with numpy.load(path) as archive:
        return [archive[f"arr_{index}"] for index in range(len(archive.files))]


class Session:
    """Owns the workers. Confined to one thread."""

    def __init__(self, contestants: list[Contestant], threads: int, effort: Effort, tiny: bool = False) -> None:
        self.contestants, self.threads, self.effort, self.tiny = contestants, threads, effort, tiny
        self.workers: dict[str, Worker] = {}

    def __enter__(self) -> Session:
        self.folder = tempfile.TemporaryDirectory(prefix="benchmarks-")
        for contestant in self.contestants:
            self.start(contestant)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for worker in self.workers.values():
            worker.stop()
        self.folder.cleanup()

    def start(self, contestant: Contestant) -> None:
        folder = Path(self.folder.name)
        log = folder / f"{contestant.name.replace(', ', '-')}.log"
        self.workers[contestant.name] = Worker(contestant, self.threads, folder, log)

    def worker(self, contestant: Contestant) -> Worker:
        """The contestant's process, started anew if it has ended."""
        if not self.workers[contestant.name].alive:
            self.workers[contestant.name].stop()
            self.start(contestant)
        worker = self.workers[contestant.name]
        worker.wait_until_ready()
        return worker

    def measure(self, row: Row) -> Timings:
        able = [c for c in self.contestants if row.builder(c.peer) is not None]
        timings = {contestant.name: Timing() for contestant in able}
        for contestant in able:
            self.warm_up(contestant, row, timings[contestant.name])
        self.check(row, timings)
        self.take_turns(row, [c for c in able if timings[c.name].failure is None], timings)
        for contestant in able:
            if contestant.peer == "spyre":
                timings[contestant.name].counters = self.ask(contestant, timings, counters=True) or {}
            self.ask(contestant, timings, close=True)
        return timings

    def result_path(self, name: str) -> Path:
        return Path(self.folder.name) / f"{name}.npz"

    def warm_up(self, contestant: Contestant, row: Row, timing: Timing) -> None:
        """The first step, which is cold, some more, and what they computed."""
        try:
            worker = self.worker(contestant)
            worker.ask(open=row.name, tiny=self.tiny, seconds=COLD_SECONDS)
            timing.cold = worker.ask(run=1, after=0, seconds=COLD_SECONDS)["seconds"]
            for _ in range(self.effort.warm_up):
                timing.rounds.append(worker.ask(run=1, after=0, seconds=COLD_SECONDS)["seconds"])
            timing.peak_bytes = worker.ask(peak=True)["bytes"]
            worker.ask(result=str(self.result_path(contestant.name)))
        except PeerError as failure:
            timing.failure = str(failure)

    def ask(self, contestant: Contestant, timings: Timings, **command: Any) -> dict[str, Any] | None:
        timing = timings[contestant.name]
        if not self.workers[contestant.name].is_open:
            return None
        try:
            return self.workers[contestant.name].ask(**command)
        except PeerError as failure:
            timing.failure = timing.failure or str(failure)
            return None

    def take_turns(self, row: Row, running: list[Contestant], timings: Timings) -> None:
        """A B A B …, so that a change in the machine's mood meets everyone."""
        steps = {c.name: min(timings[c.name].rounds) * row.steps_in_one for c in running}
        counts = {name: max(1, int(self.effort.round_seconds / max(step, 1e-9))) for name, step in steps.items()}
        for contestant in running:
            timings[contestant.name].rounds.clear()
        rounds = self.effort.few_rounds if min(counts.values(), default=1) == 1 else self.effort.rounds
        faults: dict[str, list[float]] = {c.name: [] for c in running}
        for turn in range(rounds):
            first = turn % max(1, len(running))
            for contestant in running[first:] + running[:first]:
                time.sleep(SETTLE_SECONDS)
                count = counts[contestant.name]
                answer = self.ask(contestant, timings, run=count, after=int(count > 1))
                if answer is not None:
                    timings[contestant.name].rounds.append(answer["seconds"])
                    faults[contestant.name].append(answer["faults"])
        for name, each in faults.items():
            timings[name].faults = statistics.median(each) if each else 0.0

    def check(self, row: Row, timings: Timings) -> None:
        """Results after equally many steps are compared with eager's; who is wrong has no time."""
        results = {name: load(path) for name in timings if (path := self.result_path(name)).exists()}
        reference = results.get("eager") or next(iter(results.values()), None)
        for name, result in results.items():
            self.result_path(name).unlink()
            error = timings[name].error = largest_error(result, reference)
            if not error <= row.tolerance:
                timings[name].failure = f"wrong by {error:.1e} of the largest, allowed {row.tolerance:.0e}"
