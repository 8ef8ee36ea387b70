"""Runs every benchmark once, prints the table, and writes JSON if asked to."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import dispatch, machine, workloads
from .measure import Result

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def duration(seconds: float) -> str:
    for size, unit in UNITS:
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.2g} ns"


def optional(value: float | None, text: str) -> str:
    return "" if value is None else text.format(value)


def row(result: Result) -> list[str]:
    verdict = {None: "", True: "met", False: "MISSED"}[result.passed]
    return [
        result.name,
        duration(result.seconds),
        optional(result.ratio, "{:.2f}"),
        f"{result.spread:.0%}" if result.spread else "",
        optional(result.cold_ratio, "{:.2f}"),
        optional(result.faults_per_step, "{:.1f}"),
        optional(result.notes.get("plan_hit_rate"), "{:.1%}"),
        f"{result.gate} {verdict}".strip(),
    ]


HEAD = ["what", "spyre", "x CPU", "spread", "cold x CPU", "faults/step", "plan hits", "gate"]
WIDTHS = [37, 8, 6, 6, 10, 11, 9, 26]


def print_row(cells: list[str]) -> None:
    """One line of a Markdown table, as soon as it is known."""
    print("| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--only", choices=["dispatch", "workloads"])
    arguments = parser.parse_args()

    host = machine.describe()
    bandwidth = float(str(host["copy_bytes_per_second"]))
    print(f"{host['cpu']}, {host['processors']} processors, load {host['load']:.1f}, torch {host['torch']}")
    print(f"copy bandwidth {bandwidth / 1e9:.1f} GB/s, read and written bytes counted\n")
    cases = {"dispatch": dispatch.run(), "workloads": workloads.run(bandwidth)}
    results: list[Result] = []
    print_row(HEAD)
    print_row(["-" * width for width in WIDTHS])
    for group, measured in cases.items():
        if arguments.only in {None, group}:
            for result in measured:
                print_row(row(result))
                results.append(result)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        document = {"machine": host, "results": [result.as_json() for result in results]}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
