"""Runs one row of the benchmarks over and over, for profilers; says which mappings of the process it made grow, and
which operations of the card took this machine how long (names joined by ">" are chains).

python tools/steady_row.py "training step, 32-64-10, batch 16, Adam"
python tools/steady_row.py --device cpu "decode with a growing cache, 4 layers of 256, one token"
perf record -D 6000 -F 2000 python tools/steady_row.py --seconds 12 "training step, 32-64-10, batch 16, Adam"
perf report --no-children --sort dso
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.places import CompilePlace, Place, SpyreCompilePlace, SpyrePlace, TorchPlace
from benchmarks.rows import find

HEADER = re.compile(r"^[0-9a-f]+-[0-9a-f]+ (?:\S+ ){4}\s*(.*)$")
SHOWN = 6  # mappings, operations
OBSERVED = 3  # steps
COUNTED = ("dispatches", "flushes", "kernel_launches", "library_launches")


def resident_kilobytes() -> Counter[str]:
    """By the file that is mapped; "anonymous" holds device memory among others."""
    resident: Counter[str] = Counter()
    mapping = ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if header := HEADER.match(line):
            mapping = Path(header[1]).name or "anonymous"
        elif line.startswith("Rss:"):
            resident[mapping] += int(line.split()[1])
    return resident


def milliseconds_by_operation(place: SpyrePlace, step: Callable[[], Any]) -> Counter[str]:
    """Of this machine's time, in a step."""
    with torch.spyre.timeline() as events:
        for _ in range(OBSERVED):
            place.wait(step())
    named = [event for event in events if event["name"] == "process_name"]
    host = next(event["pid"] for event in named if event["args"]["name"] == "this host")
    taken: Counter[str] = Counter()
    for event in events:
        if event["ph"] == "X" and event["pid"] == host:
            taken[event["name"]] += event["dur"] / 1e3 / OBSERVED
    return taken


def place_for(device: str, compiled: bool) -> Place:
    if device == "spyre":
        return SpyreCompilePlace() if compiled else SpyrePlace()
    return CompilePlace() if compiled else TorchPlace("cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row")
    parser.add_argument("--device", choices=("spyre", "cpu"), default="spyre")
    parser.add_argument("--compiled", action="store_true", help="with torch.compile, where the row's peers have it")
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    place = place_for(arguments.device, arguments.compiled)
    place.start()
    before = resident_kilobytes()
    step = find(arguments.row).build(place)
    steps, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < arguments.seconds:
        held = step()
        place.wait(held)
        del held
        steps += 1
    grown = resident_kilobytes() - before
    print(f"{arguments.device}: {elapsed / steps * 1e6:.0f} us a step, {steps} steps")
    print(f"  {sum(grown.values()) / 1024:.1f} MiB more than before the row was built")
    for name, kilobytes in grown.most_common(SHOWN):
        print(f"  {kilobytes / 1024:8.1f}  {name}")
    if isinstance(place, SpyrePlace):
        plans = torch.spyre.stats()["plan_cache"]
        print(f"  plans: {plans['entries']}, {plans['bytes'] / 2**20:.1f} MiB")
        of_a_step = place.counters(step)
        counted = [f"{of_a_step[name]:.0f} {name}" for name in COUNTED]
        print(f"  a step: {', '.join(counted).replace('_', ' ')}")
        taken = milliseconds_by_operation(place, step)
        print(f"  {sum(taken.values()):.2f} ms of a step in operations")
        for name, milliseconds in taken.most_common(SHOWN):
            print(f"  {milliseconds:8.2f}  {name}")


if __name__ == "__main__":
    main()
