"""python -m tests.ops.coverage: runs what build/op_coverage.jsonl does not know yet, then writes docs/op_coverage.md.

An hour or so for everything; it may be stopped and goes on where it was. --only takes parts of operators' names,
--again runs them even if they are known; --failed runs what failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .. import op_db
from .page import page
from .record import Record, Task, append, read
from .workers import ROOT, Pool

LOG = ROOT / "build" / "op_coverage.jsonl"
PAGE = ROOT / "docs" / "op_coverage.md"
ERRORS_TYPE = "float32"  # errors are the same for all types


def all_tasks() -> Iterator[Task]:
    for name, op in op_db.OPERATORS.items():
        for dtype in sorted(op.supported_dtypes("cpu"), key=str):
            for way in op_db.WAYS:
                text = str(dtype).removeprefix("torch.")
                if op_db.applies(way, op, dtype) and (way != "errors" or text == ERRORS_TYPE):
                    yield Task(name, way, text)


def chosen(task: Task, options: argparse.Namespace) -> bool:
    return (
        (not options.only or any(part in task.operator for part in options.only))
        and (not options.ways or task.way in options.ways)
        and (not options.types or task.dtype in options.types)
    )


def wanted(options: argparse.Namespace, known: dict[Task, Record]) -> list[Task]:
    tasks = [task for task in all_tasks() if chosen(task, options)]
    if options.failed:
        return [t for t in tasks if t in known and known[t].failed]
    return [t for t in tasks if options.again or t not in known or known[t].was_cut(options.samples)]


def report(record: Record) -> None:
    if record.failed:
        print(*record.task, f"{record.failed} of {record.samples}:", *record.differences, sep="  ", flush=True)


def run(tasks: list[Task], options: argparse.Namespace) -> None:
    end = time.monotonic() + options.seconds
    pool = Pool()
    try:
        for task in tasks:
            if time.monotonic() > end:
                break
            record = pool.run(task, options.samples)
            append(options.log, record)
            report(record)
    finally:
        pool.stop()


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.ops.coverage", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="PART")
    parser.add_argument("--ways", nargs="*", default=[], choices=list(op_db.WAYS))
    parser.add_argument("--types", nargs="*", default=[], metavar="float32")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--samples", type=int, default=10_000, help="at most so many of each task")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args(words)


def main(words: list[str]) -> None:
    options = parsed(words)
    options.log.parent.mkdir(exist_ok=True)
    tasks = wanted(options, {r.task: r for r in read(options.log)})
    print(f"{len(tasks)} tasks")
    run(tasks, options)
    options.page.write_text(page(list(read(options.log)), list(all_tasks())))


if __name__ == "__main__":
    main(sys.argv[1:])
