"""The checkout as the architecture tests see it: its files, its layers and who may use whom."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CPP_SUFFIXES = {".h", ".cpp"}
LAYER_LINE = re.compile(r"^\s*spyre_layer\((\w+)((?:\s+\w[\w:]*)*)\)", re.MULTILINE)


@dataclass(frozen=True)
class Layer:
    """One `spyre_layer(NAME USES … LINK …)` line: the only place where the edges are written."""

    name: str
    uses: tuple[str, ...]
    links: tuple[str, ...]


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file under version control, or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = (ROOT / name for name in sorted(set(listing.split("\0"))) if name)
    return tuple(path for path in paths if path.is_file())


def cpp_files(folder: str = "") -> list[Path]:
    return [p for p in tracked_files() if p.suffix in CPP_SUFFIXES and p.is_relative_to(ROOT / folder)]


def python_files() -> list[Path]:
    return [p for p in tracked_files() if p.suffix in {".py", ".pyi"}]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def layers() -> dict[str, Layer]:
    found = {}
    for name, rest in LAYER_LINE.findall((ROOT / "CMakeLists.txt").read_text()):
        lists: dict[str, list[str]] = {"USES": [], "LINK": []}
        current: list[str] = []
        for word in rest.split():
            if word in lists:
                current = lists[word]
            else:
                current.append(word)
        found[name] = Layer(name, tuple(lists["USES"]), tuple(lists["LINK"]))
    return found


def reachable(name: str) -> set[str]:
    """The layer itself and everything below it."""
    below = {name}
    for used in layers()[name].uses:
        below |= reachable(used)
    return below


INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(path: Path) -> list[str]:
    return [target for _, target in INCLUDE.findall(path.read_text())]


def without_comments(text: str) -> str:
    """C++ text with comments blanked; string literals stay."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return pattern.sub(lambda m: m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0]), text)
