"""Programs timed side by side on spyre and its peers: prints the table, and writes JSON and a page if asked to."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from . import machine, markdown, report, rows
from .gates import judge
from .page import page
from .peers import PEERS, contestants, missing
from .plot import plot
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
    made.add_argument("--html", type=Path, metavar="FILE", help="writes a page with the table, the gates and a plot")
    made.add_argument("--plot", type=Path, metavar="FILE", help="writes the plot alone, as SVG")
    made.add_argument(
        "--markdown", type=Path, metavar="FILE", action="append", default=[], help="fills the marks of this page"
    )
    made.add_argument("--show", type=Path, metavar="FILE", help="measures nothing: shows what a --json FILE has")
    return made


def run(arguments: argparse.Namespace) -> report.Document:
    """Measures the rows, prints each as soon as it is known, and gives the whole document."""
    taking_part = contestants(arguments.peers)
    if arguments.installed_only:
        taking_part = [c for c in taking_part if not c.recycled]
    limits = machine.measure_limits(arguments.threads, runs=1 if arguments.quick else 2)
    document: report.Document = {
        "schema": report.SCHEMA,
        "machine": machine.describe(arguments.threads),
        "limits": vars(limits) if limits else None,
        "contestants": [contestant.name for contestant in taking_part],
        "results": [],
    }
    print("\n".join([report.machine_text(document), "", *report.table_head(document["contestants"])]), flush=True)
    medians: dict[str, float] = {}
    with Session(taking_part, arguments.threads, QUICK if arguments.quick else Effort(), arguments.tiny) as session:
        for row in rows.select(arguments.only):
            timings = session.measure(row)
            measured = Measured(row, timings, judge(row, timings, limits, medians))
            medians[row.name] = timings["spyre"].median or 0.0
            document["results"].append(measured.as_json(limits))
            print(report.result_line(document["results"][-1], document["contestants"]), flush=True)
            write_json(arguments, document)  # what is measured stays, whatever happens to the rest
    return document


def write(path: Path | None, text: str) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_json(arguments: argparse.Namespace, document: report.Document) -> report.Document:
    """The document as it stands in the file: with --merge, rows of earlier runs included."""
    whole = report.merged(arguments.json, document) if arguments.json and arguments.merge else document
    order = {row.name: place for place, row in enumerate(rows.ROWS)}
    results = [result for result in whole["results"] if result["name"] in order]
    whole = {**whole, "results": sorted(results, key=lambda result: order[result["name"]])}
    write(arguments.json, json.dumps(whole, indent=1) + "\n")
    return whole


def write_all(arguments: argparse.Namespace, document: report.Document) -> None:
    whole = write_json(arguments, document)
    write(arguments.html, page(whole))
    write(arguments.plot, plot(whole))
    for marked in arguments.markdown:
        write(marked, markdown.fill(marked.read_text(), whole))


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    if arguments.list:
        print("\n".join(row.name for row in rows.select(arguments.only)))
        return 0
    absent = [reason for peer in arguments.peers if (reason := missing(peer))]
    if absent:
        print("\n".join(absent), file=sys.stderr)
        return 2
    if arguments.show:
        document = json.loads(arguments.show.read_text())
        print("\n".join([report.machine_text(document), "", *report.table(document)]))
    else:
        document = run(arguments)
    write_all(arguments, document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
