"""What became of a program: recorded operations, kernels, why they were not fused further, and why each flush."""

from __future__ import annotations

import html
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .config import config
from .memory import empty_cache
from .stats import stats
from .streams import synchronize

__all__ = ["Explanation", "Kernel", "Program", "explain"]

_NODE = re.compile(r"  %\d+ = (\w+)")
_WITHOUT = re.compile(r"  without (.*)")
_FORM = re.compile(r"  (?:(chain) over|(pointwise|row|column) rank)")
_COUNTS = ("kernel_launches", "library_launches", "dead_ops", "duplicate_ops", "kernels_compiled")
_REASONS = ("flushes", "plan_misses", "fallbacks")


@dataclass(frozen=True)
class Kernel:
    """One group of operations that runs as one launch."""

    form: str  # "pointwise", "row", "column", "library", or "chain" (of products and what stands between them)
    operations: list[str]
    why_not_more: str | None  # the last candidate that did not join, and the reason; None: there was none
    text: str

    def __str__(self) -> str:
        line = f"{self.form}: {' '.join(self.operations)}"
        return f"{line}\n    not fused with {self.why_not_more}" if self.why_not_more else line


@dataclass(frozen=True)
class Program:
    """One trace, from flush to flush."""

    kernels: list[Kernel]
    recorded: str
    plan: str
    listing: str

    def __str__(self) -> str:
        recorded = len(re.findall(r"^%", self.recorded, re.MULTILINE))
        lines = [f"{recorded} operations in {len(self.kernels)} launches"]
        return "\n".join(lines + [f"  {kernel}" for kernel in self.kernels])


@dataclass(frozen=True)
class Explanation:
    """Programs in the order of their compilation, and what the counters say. Print it, or read the fields."""

    programs: list[Program]
    counters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"program {number}: {program}" for number, program in enumerate(self.programs, 1)]
        lines += [f"{name}: {value}" for name, value in self.counters.items() if value]
        return "\n".join(lines)

    def html(self) -> str:
        """One page without links to anything."""
        parts = [f"<pre>{html.escape(str(self))}</pre>"]
        for number, program in enumerate(self.programs, 1):
            for title in ("recorded", "plan", "listing"):
                text = html.escape(getattr(program, title))
                parts.append(f"<details><summary>program {number}: {title}</summary><pre>{text}</pre></details>")
            parts += [
                f"<details><summary>{html.escape(str(k))}</summary><pre>{html.escape(k.text)}</pre></details>"
                for k in program.kernels
            ]
        return f"<!doctype html><meta charset=utf-8><title>torch.spyre.explain</title>{''.join(parts)}"


def _kernel(text: str) -> Kernel:
    form, without = _FORM.search(text), _WITHOUT.search(text)
    return Kernel(
        form=form[1] or form[2] if form else "library",
        operations=_NODE.findall(text[: form.start()] if form else text),
        why_not_more=without[1] if without else None,
        text=text,
    )


def _program(stem: Path) -> Program:
    def part(ending: str) -> str:
        return stem.with_name(f"{stem.name}.{ending}").read_text(encoding="utf-8")

    groups = re.split(r"^group \d+:\n", part("fused.txt"), flags=re.MULTILINE)[1:]
    return Program([_kernel(group) for group in groups], part("trace.txt"), part("plan.txt"), part("asm"))


def _increase(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    counters: dict[str, Any] = {name: after[name] - before[name] for name in _COUNTS}
    for table in _REASONS:
        grown = {name: count - before[table].get(name, 0) for name, count in after[table].items()}
        counters[table] = {name: count for name, count in grown.items() if count}
    return counters


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Calls the function with empty caches and tells what the compiler made of it.

    What stands before the call runs first; what the call leaves pending is run as well.
    """
    synchronize()
    empty_cache()
    with tempfile.TemporaryDirectory() as folder, config(dump=folder):
        before = stats()
        kept = function(*args, **kwargs)
        synchronize()
        counters = _increase(before, stats())
        del kept
        stems = sorted(path.with_name(path.name[: -len(".fused.txt")]) for path in Path(folder).glob("*.fused.txt"))
        return Explanation([_program(stem) for stem in stems], counters)
