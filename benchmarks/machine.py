"""The machine that the figures were taken on, and what its memory and arithmetic can do at best."""

from __future__ import annotations

import functools
import json
import math
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .row import Cost

SOURCE = Path(__file__).resolve().parent / "machine_limits.cpp"
PROGRAM = SOURCE.parent.parent / "build" / "benchmarks" / "machine_limits"
FLAGS = ["-std=c++20", "-O3", "-march=native", "-ffast-math", "-fopenmp"]


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def describe(threads: int) -> dict[str, Any]:
    return {
        "cpu": cpu_model(),
        "processors": os.cpu_count(),
        "threads": threads,
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "torch": version("torch"),
        "system": platform.release(),
    }


def build_program() -> Path | None:
    """The program that measures limits, rebuilt when its source is newer; None without a compiler."""
    if shutil.which("g++") is None:
        return None
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < SOURCE.stat().st_mtime:
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["g++", *FLAGS, str(SOURCE), "-o", str(PROGRAM)], check=True)
    return PROGRAM


@dataclass(frozen=True)
class Limits:
    """Best rates: bytes per second by the bytes moved, operations per second. Immutable."""

    copy: dict[int, float]
    triad: dict[int, float]
    float32_flops: float
    bfloat16_flops: float
    exponentials: float

    @classmethod
    def from_json(cls, measured: dict[str, Any]) -> Limits:
        by_size = {name: {int(size): rate for size, rate in measured[name].items()} for name in ("copy", "triad")}
        return cls(**{**measured, **by_size})

    def best_of(self, other: Limits) -> Limits:
        """Entry by entry: neighbours on the machine can only slow a measurement down."""
        return Limits(
            {size: max(rate, other.copy[size]) for size, rate in self.copy.items()},
            {size: max(rate, other.triad[size]) for size, rate in self.triad.items()},
            max(self.float32_flops, other.float32_flops),
            max(self.bfloat16_flops, other.bfloat16_flops),
            max(self.exponentials, other.exponentials),
        )

    def bandwidth(self, size: int) -> float:
        """Of a copy that moves about `size` bytes: the nearest size that was measured."""
        nearest = min(self.copy, key=lambda measured: abs(math.log(measured / max(size, 1))))
        return self.copy[nearest]

    def flops(self, product_type: str) -> float:
        """Half types have at least the rate of float32: their numbers can be converted on the way."""
        narrow = product_type in {"bfloat16", "float16"}
        return max(self.float32_flops, self.bfloat16_flops) if narrow else self.float32_flops

    def seconds(self, cost: Cost) -> tuple[float, str]:
        """What a step of this cost takes at least, and what says so."""
        bounds = {
            "memory": cost.bytes / self.bandwidth(cost.bytes),
            "products": cost.flops / self.flops(cost.product_type),
            "exp": cost.exponentials / self.exponentials,
        }
        binding = max(bounds, key=lambda name: bounds[name])
        return bounds[binding], binding


def measure_limits(threads: int, runs: int = 2) -> Limits | None:
    """The best of several runs; None where they cannot be measured."""
    program = build_program()
    if program is None:
        return None
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}

    def measured() -> Limits:
        done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True)
        return Limits.from_json(json.loads(done.stdout))

    return functools.reduce(Limits.best_of, (measured() for _ in range(runs)))
