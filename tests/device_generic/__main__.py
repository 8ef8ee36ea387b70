"""python -m tests.device_generic FOLDER FILE...: PyTorch's device-generic tests in FOLDER (its `test`) on spyre.

Each runs on cpu, too: what fails there says nothing about the device (it may be written for another version). What
fails on spyre alone is held against the expected failures, which may only become fewer. --every N takes one test of N.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from .runs import Run, run

EXPECTED = Path(__file__).with_name("expected_failures.txt")


def expected_failures() -> list[str]:
    """Names of tests, and patterns of such names."""
    lines = (line.split("#")[0].strip() for line in EXPECTED.read_text().splitlines())
    return [line for line in lines if line]


def is_among(key: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def outcomes(options: argparse.Namespace, file: str, device: str) -> dict[str, tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        return run(Run(options.folder.resolve(), file, device, log, options.first, options.every))


def is_failure(outcome: tuple[str, str]) -> bool:
    return outcome[0] in ("failed", "crashed")


@dataclass(frozen=True)
class Verdict:
    """What one file's outcomes on both devices say about spyre."""

    news: dict[str, tuple[str, str]]  # fails there alone, and nobody expects it
    mended: list[str]  # is expected to fail, and passes
    alone: int  # how many fail there alone
    both: list[str]  # crash on both


def judge(on_spyre: dict[str, tuple[str, str]], on_cpu: dict[str, tuple[str, str]], expected: list[str]) -> Verdict:
    alone = {k: o for k, o in on_spyre.items() if is_failure(o) and on_cpu.get(k, ("absent", ""))[0] == "passed"}
    return Verdict(
        news={k: o for k, o in alone.items() if not is_among(k, expected)},
        mended=sorted(k for k, o in on_spyre.items() if o[0] == "passed" and is_among(k, expected)),
        alone=len(alone),
        both=sorted(k for k, o in on_spyre.items() if o[0] == "crashed" and k not in alone),
    )


def check_file(options: argparse.Namespace, file: str, expected: list[str]) -> bool:
    """Tells what is new; true if nothing is."""
    on_spyre, on_cpu = (outcomes(options, file, device) for device in ("spyre", "cpu"))
    verdict = judge(on_spyre, on_cpu, expected)
    counts = Counter(what for what, _ in on_spyre.values())
    failing = sum(map(is_failure, on_cpu.values()))
    print(f"{file}: {dict(counts)} on spyre; {failing} fail on cpu, {verdict.alone} on spyre only")
    for key in verdict.both:
        print(f"  crashes, and does not pass on cpu: {key}")
    for key, (what, text) in sorted(verdict.news.items()):
        print(f"  new: {key}  # {what}: {text[:200]}")
    for key in verdict.mended:
        print(f"  passes now, take it off the list: {key}")
    sys.stdout.flush()
    return not verdict.news and not verdict.mended


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.device_generic", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(words)
    expected = expected_failures()
    clean = [check_file(options, file, expected) for file in options.files]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
