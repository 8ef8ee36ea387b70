"""What every test may use: the device, and child processes with another environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("HF_HUB_OFFLINE", "1")

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run_python() -> RunPython:
    """run_python(code, SPYRE_MODE="eager"): a fresh interpreter; its output and exit status, never an exception."""

    def run(code: str, timeout: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def stats() -> Callable[[], dict]:
    """Counters since the start of the test."""
    import torch

    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    return torch.spyre.stats
