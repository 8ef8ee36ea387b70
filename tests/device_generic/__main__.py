"""python -m tests.device_generic FOLDER [FILE...]: PyTorch's device-generic tests in FOLDER (its `test`) on spyre.

What fails runs on cpu, too: what fails there says nothing about the device (it may be written for another version).
What fails on spyre alone is held against the expected failures, which may only become fewer. --every N takes one test
of N, --cards 2 those that want two devices, which nothing is compared with.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

from .runs import Run, run

EXPECTED = Path(__file__).with_name("expected_failures.txt")
FILES = (
    *("test_torch.py", "test_autograd.py", "test_nn.py", "test_linalg.py", "test_reductions.py"),
    *("test_unary_ufuncs.py", "test_binary_ufuncs.py", "test_tensor_creation_ops.py", "test_view_ops.py"),
    *("test_indexing.py", "test_sort_and_select.py", "test_scatter_gather_ops.py", "test_shape_ops.py"),
    *("test_type_promotion.py", "nn/test_convolution.py", "nn/test_embedding.py"),
)
HOW_TO_GET_THEM = f"""PyTorch's wheel is without its tests; those of the installed version, into ./pytorch/test:
  git clone --depth 1 --filter=blob:none --sparse --branch v{version("torch").split("+")[0]} \\
      https://github.com/pytorch/pytorch
  git -C pytorch sparse-checkout set test"""


def expected_failures() -> list[str]:
    """Names of tests, and patterns of such names."""
    lines = (line.split("#")[0].strip() for line in EXPECTED.read_text().splitlines())
    return [line for line in lines if line]


def is_among(key: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


Outcomes = dict[str, tuple[str, str]]


def outcomes(options: argparse.Namespace, file: str, device: str, only: Iterable[str] | None = None) -> Outcomes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = Run(options.folder.resolve(), file, device, folder / "log", options.first, options.every, options.cards)
        if only is not None:
            task = replace(task, only=folder / "only")
            (folder / "only").write_text(json.dumps(list(only)))
        return run(task)


def is_failure(outcome: tuple[str, str]) -> bool:
    return outcome[0] in ("failed", "crashed")


@dataclass(frozen=True)
class Verdict:
    """What one file's outcomes on both devices say about spyre."""

    news: dict[str, tuple[str, str]]  # fails there alone or cannot be run on cpu, and nobody expects it
    mended: list[str]  # is expected to fail, and passes
    alone: int  # how many fail there alone
    both: list[str]  # crash on both


def judge(on_spyre: dict[str, tuple[str, str]], on_cpu: dict[str, tuple[str, str]], expected: list[str]) -> Verdict:
    comparable = {k: on_cpu.get(k, ("absent", ""))[0] in ("passed", "absent") for k in on_spyre}
    alone = {k: o for k, o in on_spyre.items() if is_failure(o) and comparable[k]}
    return Verdict(
        news={k: o for k, o in alone.items() if not is_among(k, expected)},
        mended=sorted(k for k, o in on_spyre.items() if o[0] == "passed" and is_among(k, expected)),
        alone=len(alone),
        both=sorted(k for k, o in on_spyre.items() if o[0] == "crashed" and k not in alone),
    )


def check_file(options: argparse.Namespace, file: str, expected: list[str]) -> bool:
    """Tells what is new; true if nothing is."""
    on_spyre = outcomes(options, file, "spyre")
    failing = [key for key, outcome in on_spyre.items() if is_failure(outcome)]
    on_cpu = dict.fromkeys(failing, ("passed", "")) if options.cards > 1 else outcomes(options, file, "cpu", failing)
    verdict = judge(on_spyre, on_cpu, expected)
    counts = Counter(what for what, _ in on_spyre.values())
    print(f"{file}: {dict(counts)} on spyre, {verdict.alone} fail there alone")
    for key in verdict.both:
        print(f"  crashes, and does not pass on cpu: {key}")
    for key, (what, text) in sorted(verdict.news.items()):
        print(f"  new: {key}  # {what}: {text[:200]}")
    for key in verdict.mended:
        print(f"  passes now, take it off the list: {key}")
    sys.stdout.flush()
    return not verdict.news and not verdict.mended


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.device_generic",
        description=__doc__,
        epilog=HOW_TO_GET_THEM,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cards", type=int, default=1)
    options = parser.parse_args(words)
    if missing := [file for file in options.files if not (options.folder / file).is_file()]:
        parser.error(f"no {', '.join(missing)} in {options.folder}. {HOW_TO_GET_THEM}")
    expected = expected_failures()
    clean = [check_file(options, file, expected) for file in options.files]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
