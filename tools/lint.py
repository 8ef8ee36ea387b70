#!/usr/bin/env python3
"""Every checker, one after the other; prints each verdict and fails if any of them does. `--fix` lets them repair."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
# clang-tidy needs a compilation database; these layers have one without torch.
TIDY_FOLDERS = ("base", "device_sim", "kernels", "lazy")
TIDY_BUILD = ROOT / "build" / "dev"


def tracked(*patterns: str) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listing.splitlines() if (ROOT / name).is_file()]


def passes(name: str, command: list[str]) -> bool:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(f"{name:<14} {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print((done.stdout + done.stderr).rstrip())
    return done.returncode == 0


def clang_format(fix: bool) -> bool:
    mode = ["-i"] if fix else ["--dry-run", "-Werror"]
    return passes("clang-format", [str(TOOLS / "clang-format"), *mode, *tracked("*.h", "*.cpp")])


def tidy_one(source: str) -> str:
    """What clang-tidy has against one file; empty if nothing."""
    command = [str(TOOLS / "clang-tidy"), "-p", str(TIDY_BUILD), "--quiet", source]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode != 0 else ""


def clang_tidy() -> bool:
    configure = ["cmake", "--preset", "dev", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    subprocess.run(configure, cwd=ROOT, capture_output=True, check=True)
    sources = [s for s in tracked("*.cpp") if s.startswith(TIDY_FOLDERS) and not s.endswith("_test.cpp")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(tidy_one, sources) if text]
    print(f"{'clang-tidy':<14} {'FAILED' if complaints else 'ok'}")
    print("".join(complaints), end="")
    return not complaints


def ruff(fix: bool) -> bool:
    tool = str(TOOLS / "ruff")
    checked = passes("ruff check", [tool, "check", *(["--fix"] if fix else []), "."])
    return passes("ruff format", [tool, "format", *([] if fix else ["--check"]), "."]) and checked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--no-tidy", action="store_true", help="leave clang-tidy out: it takes minutes")
    arguments = parser.parse_args()
    verdicts = [
        clang_format(arguments.fix),
        ruff(arguments.fix),
        passes("mypy", [str(TOOLS / "mypy")]),
        passes("codespell", [str(TOOLS / "codespell"), *tracked()]),
    ]
    if not arguments.no_tidy:
        verdicts.append(clang_tidy())
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
