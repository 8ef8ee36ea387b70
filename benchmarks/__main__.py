"""Programs timed side by side on spyre and its peers: prints the table, and writes JSON and a page if asked to."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from . import machine, report, rows
from .gates import judge
from .peers import PEERS, contestants, missing
from .report import Measured
from .session import QUICK, Effort, Session


def peer_list(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such peer: {', '.join(unknown)}; there are: {', '.join(PEERS)}")
    return names


def pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"not a regular expression: {error}") from None
    return text


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument(
        "--peers", type=peer_list, default=["eager"], help=f"some of {','.join(PEERS)}; eager unless given"
    )
    made.add_argument("--threads", type=int, default=os.cpu_count(), help="processors that everyone may use")
    made.add_argument("--only", type=pattern, metavar="PATTERN", help="rows whose name or family matches")
    made.add_argument("--quick", action="store_true", help="fewer and shorter rounds: minutes become seconds")
    made.add_argument("--tiny", action="store_true", help="small inputs, to try the suite itself; figures mean nothing")
    made.add_argument("--installed-only", action="store_true", help="leave peers with recycled buffers out")
    made.add_argument("--list", action="store_true", help="names the rows and ends")
    made.add_argument("--json", type=Path, metavar="FILE", help="writes everything measured")
    made.add_argument("--merge", action="store_true", help="keeps rows of an earlier --json FILE that this run has not")
    return made


def say_machine(host: dict[str, Any], limits: machine.Limits | None) -> None:
    print(f"{host['cpu']}, {host['threads']} of {host['processors']} processors, load {host['load']:.1f}")
    if limits is not None:
        large = max(limits.copy)
        print(
            f"limits: copy {limits.copy[large] / 1e9:.1f} GB/s, triad {limits.triad[large] / 1e9:.1f} GB/s, "
            f"float32 {limits.float32_flops / 1e9:.0f} and bfloat16 {limits.bfloat16_flops / 1e9:.0f} GFLOP/s, "
            f"exp {limits.exponentials / 1e9:.1f} G/s"
        )
    print(flush=True)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures the rows, prints each as soon as it is known, and gives the whole document."""
    taking_part = contestants(arguments.peers)
    if arguments.installed_only:
        taking_part = [c for c in taking_part if not c.recycled]
    names = [contestant.name for contestant in taking_part]
    host, limits = machine.describe(arguments.threads), machine.measure_limits(arguments.threads)
    say_machine(host, limits)
    print("\n".join(report.table_head(names)), flush=True)
    results: list[dict[str, Any]] = []
    medians: dict[str, float] = {}
    with Session(taking_part, arguments.threads, QUICK if arguments.quick else Effort(), arguments.tiny) as session:
        for row in rows.select(arguments.only):
            timings = session.measure(row)
            measured = Measured(row, timings, judge(row, timings, limits, medians))
            medians[row.name] = timings["spyre"].median or 0.0
            results.append(measured.as_json(limits))
            print(report.table_line(report.line(results[-1], names), report.widths(names)), flush=True)
    return {
        "schema": report.SCHEMA,
        "machine": host,
        "limits": vars(limits) if limits else None,
        "contestants": names,
        "results": results,
    }


def write(arguments: argparse.Namespace, document: dict[str, Any]) -> None:
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        if arguments.merge:
            document = report.merged(arguments.json, document)
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    if arguments.list:
        print("\n".join(row.name for row in rows.select(arguments.only)))
        return 0
    absent = [reason for peer in arguments.peers if (reason := missing(peer))]
    if absent:
        print("\n".join(absent), file=sys.stderr)
        return 2
    write(arguments, run(arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
