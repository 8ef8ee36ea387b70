"""Worker processes seen from outside: one that crashes or falls silent is replaced, and its sample has failed."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from .record import Record, Task

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 120
SILENT_SECONDS = 60
MAX_CRASHES = 5  # of one task
WORKER = (sys.executable, "-m", "tests.ops.coverage.worker")


class WorkerEndedError(Exception):
    """The worker is gone; says how."""


class Worker:
    """One process. Confined to its owner's thread."""

    def __init__(self, command: tuple[str, ...], patience: int) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.patience = START_SECONDS
        self.later_patience = patience
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")  # the end of the pipe

    def ask(self, question: list[Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # heard as the end of its answers
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """The next trial, or None at the task's end."""
        line = self._next_line()
        if line is None:
            raise WorkerEndedError(f"hangs: silent for {self.patience} seconds")
        if line == "":
            raise WorkerEndedError(f"crashes: {how_it_ended(self.process.wait())}")
        self.patience = self.later_patience
        return json.loads(line) if line.strip() else None

    def _next_line(self) -> str | None:
        """None when patience has run out. A second at a time: while this process is held still, none passes."""
        for _ in range(self.patience):
            with contextlib.suppress(queue.Empty):
                return self.lines.get(timeout=1)
        return None

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


def how_it_ended(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


class Pool:
    """Keeps one worker alive. Confined to one thread."""

    def __init__(self, command: tuple[str, ...] = WORKER, patience: int = SILENT_SECONDS) -> None:
        self.command = command
        self.patience = patience
        self.worker: Worker | None = None

    def run(self, task: Task, samples: int) -> Record:
        record = Record(*task, samples)
        for _ in range(MAX_CRASHES):
            try:
                self._run_from(record.samples, task, samples, record)
                break
            except WorkerEndedError as end:
                self.stop()
                record.samples += 1
                record.fail(str(end))
        return record

    def _run_from(self, first: int, task: Task, samples: int, record: Record) -> None:
        self.worker = self.worker or Worker(self.command, self.patience)
        self.worker.ask([*task, first, samples])
        while (trial := self.worker.answer()) is not None:
            record.add(trial)

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.stop()
        self.worker = None
