"""spyre-smi: what the simulated cards of this user's running processes are doing, in upstream's terms.

Exits with 0, or with 2 for wrong usage. Processes publish their meters themselves (SPYRE_METRICS); nothing is asked of
them, and nothing is started.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .metrics import FIELDS, Metrics, between

_CLEAR = "\x1b[H\x1b[2J"


@dataclass(frozen=True)
class Reading:
    """One process's meters at one moment."""

    pid: int
    command: str
    at: float
    cpu_seconds: float
    resident: int
    specs: list[dict[str, Any]]
    meters: list[dict[str, int]]  # by card


def folder() -> Path | None:
    """Where this user's processes publish; None if SPYRE_METRICS says that they do not."""
    named = os.environ.get("SPYRE_METRICS") or "/dev/shm"
    return None if named == "off" else Path(named) / f"torch_spyre-{os.geteuid()}"


def read_all(place: Path | None) -> dict[int, Reading]:
    """The processes that run, by number. Files of those that ended without removing theirs are removed."""
    found: dict[int, Reading] = {}
    if place is None or not place.is_dir():
        return found
    for path in sorted(place.iterdir()):
        reading = _read(path)
        if reading is not None:
            found[reading.pid] = reading
        elif _is_stale(path):
            path.unlink(missing_ok=True)
    return found


def rows(before: dict[int, Reading], after: dict[int, Reading]) -> list[dict[str, Any]]:
    """A row for each card of each process: its number, the process's share of the host, and the metrics."""
    return [row for pid, reading in after.items() for row in _rows_of(before.get(pid), reading)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    options = _parser().parse_args(arguments)
    last: dict[int, Reading] = {}
    try:
        while True:
            now = read_all(folder())
            if not options.once and not last:
                last = now
            found = [r for r in rows(last, now) if options.device in {None, r["device"]}]
            print(_shown(found, options), flush=True)
            if options.once:
                return 0
            last = now
            time.sleep(options.interval)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="spyre-smi", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("-i", "--interval", type=_seconds, default=1.0, help="seconds between two looks (1)")
    parser.add_argument("-d", "--device", type=int, help="this card alone")
    parser.add_argument("--once", action="store_true", help="one look: means since each process first used the card")
    parser.add_argument("--json", action="store_true", help="a JSON array a line, not a table")
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"expected more than 0 seconds; got {text}")
    return seconds


def _process_fields(pid: int) -> list[str]:
    """/proc/<pid>/stat from the process's state on."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _read(path: Path) -> Reading | None:
    """None for a file that is not, or not yet, whole, or whose process is gone."""
    try:
        content = path.read_bytes()
        header = json.loads(content.partition(b"\n")[0])
        pid, names = int(header["pid"]), header["meters"]
        fields = _process_fields(pid)
        if int(fields[19]) != header["started"]:  # another process has its number now
            return None
        places = [header["first"] + header["stride"] * card for card in range(len(header["cards"]))]
        layout = struct.Struct(f"={len(names)}Q")
        meters = [dict(zip(names, layout.unpack_from(content, place), strict=True)) for place in places]
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        cpu = (int(fields[11]) + int(fields[12])) / ticks
        return Reading(pid, command, time.monotonic(), cpu, int(fields[21]) * page, header["cards"], meters)
    except (OSError, ValueError, KeyError, IndexError, TypeError, struct.error):
        return None


def _is_stale(path: Path) -> bool:
    """Whether nobody runs who could still write the file."""
    try:
        pid = int(path.name)
        header = json.loads(path.read_bytes().partition(b"\n")[0])
        return int(_process_fields(pid)[19]) != header["started"]
    except FileNotFoundError:
        return True
    except (OSError, ValueError, KeyError, IndexError):
        return False  # half written, or somebody else's


def _rows_of(before: Reading | None, after: Reading) -> Iterable[dict[str, Any]]:
    known = before is not None and before.cpu_seconds <= after.cpu_seconds and before.at < after.at
    hostcpu = None
    if known and before is not None:
        hostcpu = 100 * (after.cpu_seconds - before.cpu_seconds) / (after.at - before.at)
    for device, meters in enumerate(after.meters):
        seen = before.meters[device] if before is not None else {}
        values: Metrics = {"hostcpu": hostcpu, "hostmem": after.resident / 2**20}
        values |= between(seen, meters, after.specs[device])
        yield {"pid": after.pid, "command": after.command, "device": device, **values}


def _shown(found: list[dict[str, Any]], options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps(found)
    clear = _CLEAR if sys.stdout.isatty() and not options.once else ""
    return clear + _table(found)


def _table(found: list[dict[str, Any]]) -> str:
    if not found:
        return "spyre-smi: no process of this user has a card"
    columns = ["pid", "device", "hostcpu", "hostmem", *FIELDS]
    units = ["", "", "%", "MiB", *(unit for unit, _ in FIELDS.values())]
    lines = [columns, units, *([_cell(row[name]) for name in columns] for row in found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    commands = ["command", "", *(row["command"][:40] for row in found)]
    return "\n".join(
        "  ".join([*map(str.rjust, line, widths), command]).rstrip()
        for line, command in zip(lines, commands, strict=True)
    )


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
