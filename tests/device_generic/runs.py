"""One file's tests on one device type, in child processes that may crash or hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import plugin

ROOT = Path(__file__).resolve().parents[2]
TEST_SECONDS = 120
MAX_CRASHES = 20


@dataclass(frozen=True)
class Run:
    folder: Path  # PyTorch's test folder
    file: str
    device: str  # "cpu" or "spyre"
    log: Path
    first: int = 0
    step: int = 1
    cards: int = 1  # more: only tests of so many devices
    only: Path | None = None  # names of tests, as JSON: no others

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu" if self.device == "cpu" else "privateuse1",
            "PYTORCH_PRINT_REPRO_ON_FAILURE": "0",
            plugin.LOG: str(self.log),
            plugin.DEVICE: self.device,
            plugin.FIRST: str(self.first),
            plugin.STEP: str(self.step),
            plugin.CARDS: str(self.cards),
            plugin.ONLY: str(self.only or ""),
            "AIU_WORLD_SIZE": str(self.cards),
        }

    def command(self) -> list[str]:
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.device_generic.plugin",
            "--tb=short",
            "--no-header",
            "--noconftest",
        ]
        limits = ["--timeout", str(TEST_SECONDS), "--timeout-method", "thread", "-W", "ignore"]
        return [sys.executable, "-m", "pytest", *options, *limits, "--rootdir", str(self.folder), self.file]

    def process(self) -> int:
        child = subprocess.run(
            self.command(), cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=False
        )
        if not self.log.exists():
            self.log.write_text("")
            print(child.stdout[-2000:], child.stderr[-2000:])
        return child.returncode


def last_words(log: Path) -> dict[str, tuple[str, str]]:
    return {key: (what, text) for key, what, text in map(json.loads, log.read_text().splitlines())}


def run(task: Run) -> dict[str, tuple[str, str]]:
    """The outcome of each test: passed, skipped, failed, or crashed; and why."""
    for _ in range(MAX_CRASHES):
        status = task.process()
        unfinished = [key for key, (what, _) in last_words(task.log).items() if what == "started"]
        with task.log.open("a") as log:
            for key in unfinished:
                log.write(json.dumps([key, "crashed", f"the process ended with status {status}"]) + "\n")
        if not unfinished:
            break
    return last_words(task.log)
