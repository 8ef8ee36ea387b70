"""Runs tasks that come as lines on standard input; each trial is a line of JSON, and an empty line ends a task.

A process of its own: what crashes or hangs here is the parent's observation.
"""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

import torch

from tests.answers import quiet_worker

from .. import op_db
from .record import Task

MAX_TEXT = 300


def line_of(trial: op_db.Trial) -> dict[str, Any]:
    difference = trial.difference and trial.difference[:MAX_TEXT]
    return {"difference": difference, "ulps": trial.ulps, "tier": trial.ran.tier, "on_host": trial.ran.on_host}


def run(task: Task, which: range, answers: TextIO) -> None:
    for trial in op_db.trials(task.way, task.operator, getattr(torch, task.dtype), which):
        answers.write(json.dumps(line_of(trial)) + "\n")
        answers.flush()
    answers.write("\n")
    answers.flush()


def main() -> None:
    answers = quiet_worker()
    for line in sys.stdin:
        *task, first, end = json.loads(line)
        run(Task(*task), range(first, end), answers)


if __name__ == "__main__":
    main()
