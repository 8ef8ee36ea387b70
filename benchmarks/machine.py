"""The machine that the figures were taken on, and what its memory can do at best."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import numpy
import torch

COPY_BYTES = 64 << 20
REPETITIONS = 20


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def copy_bandwidth() -> float:
    """Bytes per second of a warm 64 MiB copy by all threads, read and write counted: the best of twenty."""
    source = torch.ones(COPY_BYTES // 4)
    target = torch.empty_like(source)
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        target.copy_(source)
        best = min(best, time.perf_counter() - start)
    return 2 * COPY_BYTES / best


def describe() -> dict[str, object]:
    return {
        "cpu": cpu_model(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "threads": torch.get_num_threads(),
        "copy_bytes_per_second": copy_bandwidth(),
    }
