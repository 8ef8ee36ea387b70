"""A process that measures rows on one peer: `python -m benchmarks.worker --peer eager`.

It imports the peer's libraries once, then forks for every row it is asked to open: each row starts in a process that
has run nothing yet, so that its first step is cold and its peak memory its own. Commands and answers are lines of JSON
on the pipes that were standard input and output; what libraries print goes to standard error.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import resource
import site
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy

from .places import PLACES, Place
from .row import Row, Step


class Channel:
    """Lines of JSON on the first standard output; from then on, printed text goes to standard error."""

    def __init__(self) -> None:
        self.answers = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)

    def commands(self):
        while line := sys.stdin.readline():
            yield json.loads(line)

    def answer(self, **fields: Any) -> None:
        self.answers.write(json.dumps(fields) + "\n")
        self.answers.flush()


def status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def forget_peak() -> None:
    """From here on, with what building the row has left behind given back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


class Measured:
    """One row in this process. Confined to it."""

    def __init__(self, place: Place, row: Row, step: Step) -> None:
        self.place, self.row, self.step = place, row, step

    def once(self) -> Any:
        """The result is held until it is there: what nobody holds is dead, and a lazy device would skip it."""
        held = self.step()
        self.place.wait(held)
        return held

    def seconds_of(self, count: int) -> float:
        if self.row.clock is not None:
            return self.row.clock(self.place, self.step, count)
        start = time.perf_counter()
        for _ in range(count):
            held = self.once()
            del held
        return (time.perf_counter() - start) / count

    def run(self, count: int) -> dict[str, float]:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        seconds = self.seconds_of(count)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        return {"seconds": seconds / self.row.steps_in_one, "faults": faults / count}

    def counters(self) -> dict[str, float]:
        """Of steady steps; a row with a clock of its own is about something else."""
        return {} if self.row.clock is not None else self.place.counters(self.step)

    def result(self, path: str) -> dict[str, float]:
        numbers = [] if self.row.clock is not None else self.place.numbers(self.once())
        numpy.savez(path, *numbers)
        return {}


def open_row(peer: str, name: str, tiny: bool) -> tuple[Measured, int]:
    """The row, built and waiting on its inputs, and the memory that this process had before."""
    from .rows import find

    place = PLACES[peer](tiny=tiny)
    place.start()
    row = find(name)
    build = row.builder(peer)
    if build is None:
        raise LookupError(f"{name} has no form for {peer}")
    before = status_bytes("VmRSS")
    step = build(place)
    place.wait(None)
    forget_peak()
    return Measured(place, row, step), before


def serve(channel: Channel, peer: str, command: dict[str, Any]) -> None:
    """Answers commands about one row until it is closed."""
    measured, memory = open_row(peer, command["open"], command["tiny"])
    channel.answer(open=True)
    for request in channel.commands():
        match request:
            case {"run": int(count), "after": int(untimed)}:
                for _ in range(untimed):
                    measured.once()
                channel.answer(**measured.run(count))
            case {"result": str(path)}:
                channel.answer(**measured.result(path))
            case {"peak": _}:
                channel.answer(bytes=max(0, status_bytes("VmHWM") - memory))
            case {"counters": _}:
                channel.answer(**measured.counters())
            case {"close": _}:
                return


def serve_in_a_child(channel: Channel, peer: str, command: dict[str, Any]) -> None:
    child = os.fork()
    if child == 0:
        try:
            serve(channel, peer, command)
        except BaseException as error:
            traceback.print_exc()
            channel.answer(error=f"{type(error).__name__}: {error}"[:400])
            os._exit(1)
        sys.stderr.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        channel.answer(error=f"ended by signal {os.WTERMSIG(status)}")
    elif status == 0:
        channel.answer(closed=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker", description="answers python -m benchmarks")
    parser.add_argument("--peer", choices=sorted(PLACES), required=True)
    parser.add_argument("--packages", help="a folder of packages that the peer's own environment lacks")
    parser.add_argument("--threads", type=int, required=True, help="processors that this process may use")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    channel = Channel()
    if arguments.packages:
        site.addsitedir(arguments.packages)
    from . import rows  # noqa: F401 — imported here, so that every child has it

    PLACES[arguments.peer]()
    channel.answer(ready=True)
    for command in channel.commands():
        serve_in_a_child(channel, arguments.peer, command)


if __name__ == "__main__":
    main()
