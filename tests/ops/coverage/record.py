"""What the workers say about a task, as lines of JSON: the log that a run leaves and goes on from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..op_tier import TIERS

KEPT_DIFFERENCES = 3


class Task(NamedTuple):
    """One operator of op_db in one type, called one way."""

    operator: str
    way: str
    dtype: str


@dataclass
class Record:
    """What became of a task. `differences` are the first of the failed samples' different texts."""

    operator: str
    way: str
    dtype: str
    asked: int  # at most so many of op_db's samples were run
    samples: int = 0  # with out=, each counts once for each destination
    failed: int = 0
    ulps: float = 0
    tier: str = TIERS[0]
    on_host: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    @property
    def task(self) -> Task:
        return Task(self.operator, self.way, self.dtype)

    def was_cut(self, samples: int) -> bool:
        """Whether a run of so many samples would see others."""
        return self.asked <= self.samples and self.asked < samples

    def fail(self, difference: str) -> None:
        self.failed += 1
        if difference not in self.differences and len(self.differences) < KEPT_DIFFERENCES:
            self.differences.append(difference)

    def add(self, trial: dict[str, Any]) -> None:
        self.samples += 1
        if trial["difference"] is not None:
            self.fail(trial["difference"])
        self.ulps = max(self.ulps, trial["ulps"])
        self.tier = max(self.tier, trial["tier"], key=TIERS.index)
        self.on_host = sorted({*self.on_host, *trial["on_host"]})


def append(log: Path, record: Record) -> None:
    with log.open("a") as lines:
        lines.write(json.dumps(asdict(record)) + "\n")


def read(log: Path) -> Iterator[Record]:
    """The last word on each task."""
    lines = log.read_text().splitlines() if log.exists() else []
    records = [Record(**json.loads(line)) for line in lines]
    yield from {record.task: record for record in records}.values()
