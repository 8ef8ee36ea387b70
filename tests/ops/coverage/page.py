"""docs/op_coverage.md, from what the workers said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..exclusions import exclusion
from ..op_tier import TIERS
from .record import Record, Task

MAIN_TYPE = "float32"
TYPES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool",
    "complex64": "c64", "complex128": "c128", "complex32": "c32", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz", "float8_e5m2": "e5m2", "float8_e5m2fnuz": "e5m2fnuz",
}  # fmt: skip
LETTERS = {"view": "V", "fused": "F", "library": "L", "host": "H"}
VALUES = ("forward", "method", "in place")
DERIVATIVES = ("gradient", "second gradient", "tangent")

Known = dict[Task, Record]

HEAD = """# Coverage of PyTorch's operators

Every operator of PyTorch's own table (`op_db`), in every type that CPU has for it, on its own samples: called as
function, as method, in place, with `out=` tensors of every look; gradients, second gradients, forward-mode
derivatives; wrong arguments. CPU is what it is compared with. Written by

```
.venv/bin/python -m tests.ops.coverage
```

which runs each task in a worker process, so that a crash or a hang would be a line of this page.

"""


def share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / max(whole, 1):.2f} %)"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines) + "\n"


def worst(records: Iterable[Record]) -> str:
    return max((r.tier for r in records), key=TIERS.index, default=TIERS[0])


class Coverage:
    """The records of one run, asked. Immutable."""

    def __init__(self, records: list[Record], tasks: list[Task]) -> None:
        self.known: Known = {r.task: r for r in records}
        self.tasks = tasks
        self.types: dict[str, list[str]] = {}
        for task in tasks:
            self.types.setdefault(task.operator, [])
            if task.dtype not in self.types[task.operator]:
                self.types[task.operator].append(task.dtype)

    def records(self, operator: str, dtype: str, ways: tuple[str, ...]) -> list[Record]:
        found = (self.known.get(Task(operator, way, dtype)) for way in ways)
        return [r for r in found if r is not None]

    def failures(self) -> list[Record]:
        return [self.known[t] for t in self.tasks if t in self.known and self.known[t].failed]

    def main_type(self, operator: str) -> str:
        types = self.types[operator]
        return MAIN_TYPE if MAIN_TYPE in types else types[-1]

    def tier(self, operator: str) -> str:
        """Of the main type, derivatives included."""
        return worst(self.records(operator, self.main_type(operator), VALUES + DERIVATIVES))


def totals(coverage: Coverage) -> str:
    records = [coverage.known[t] for t in coverage.tasks if t in coverage.known]
    samples, failed = sum(r.samples for r in records), sum(r.failed for r in records)
    ended = Counter(d.split(":")[0] for r in records for d in r.differences if d.startswith(("crashes", "hangs")))
    tiers = Counter(coverage.tier(operator) for operator in coverage.types)
    native = sum(tiers[t] for t in TIERS[:-1])
    rows = [
        ["operators", f"{len(coverage.types)}"],
        ["tasks (operator, type, way of calling) run", share(len(records), len(coverage.tasks))],
        ["samples of a task, at most", f"{max((r.asked for r in records), default=0):,}"],
        ["samples that do what they do on CPU", share(samples - failed, samples)],
        ["crashes, hangs", f"{ended['crashes']}, {ended['hangs']}"],
        ["operators without host work in float32, derivatives included", share(native, len(coverage.types))],
        *([f"… {name}", str(tiers[name])] for name in TIERS),
    ]
    return table(["", ""], rows)


def exceptions(coverage: Coverage) -> str:
    rows = []
    for r in coverage.failures():
        excluded = exclusion(r.way, r.operator, r.dtype)
        reason = excluded.why if excluded else f"**not explained**: {r.differences[0]}"
        rows.append([f"`{r.operator}`", r.way, r.dtype, f"{r.failed} of {r.samples}", reason])
    return "## Exceptions\n\n" + table(["operator", "way", "type", "samples", "reason"], merged(rows))


def merged(rows: list[list[str]]) -> list[list[str]]:
    """One row for the types that differ in nothing else."""
    groups: dict[tuple[str, str, str], list[list[str]]] = {}
    for row in rows:
        groups.setdefault((row[0], row[1], row[4]), []).append(row)
    return [
        [operator, way, ", ".join(r[2] for r in group), "; ".join(dict.fromkeys(r[3] for r in group)), reason]
        for (operator, way, reason), group in groups.items()
    ]


def on_host(coverage: Coverage) -> str:
    rows = []
    for operator in coverage.types:
        if coverage.tier(operator) == "host":
            records = coverage.records(operator, coverage.main_type(operator), VALUES + DERIVATIVES)
            ways = [r.way for r in records if r.tier == "host"]
            calls = sorted({op for r in records for op in r.on_host})
            rows.append([f"`{operator}`", ", ".join(ways), ", ".join(f"`{op.removeprefix('aten::')}`" for op in calls)])
    text = "## On the host in float32\n\n" + "Operators of which some part runs on the host, and that part.\n\n"
    return text + table(["operator", "ways", "host operators"], rows)


def cell(coverage: Coverage, operator: str, dtype: str) -> str:
    values, derivatives = (coverage.records(operator, dtype, ways) for ways in (VALUES, DERIVATIVES))
    if not values:
        return "" if dtype not in coverage.types[operator] else "?"
    text = LETTERS[worst(values)]
    ulps = max(r.ulps for r in values)
    if ulps:
        text += f" {ulps:.0f}" if ulps < 1e4 else f" {ulps:.0e}"
    if derivatives:
        text += f" ∂{LETTERS[worst(derivatives)]}"
    return text + " !" * any(r.failed for r in values + derivatives)


def every_operator(coverage: Coverage) -> str:
    text = (
        "## Every operator and type\n\n**F** fused, **L** library, **H** some part on the host, **V** no kernel at all;"
        " the number is the largest distance from CPU in units of the last place (0 is left out; large where a sum"
        " cancels); **∂** is how derivatives ran; **!** is an exception above.\n\n"
    )
    rows = [[f"`{op}`", *(cell(coverage, op, dtype) for dtype in TYPES)] for op in coverage.types]
    return text + table(["", *TYPES.values()], rows)


def page(records: list[Record], tasks: list[Task]) -> str:
    coverage = Coverage(records, tasks)
    parts = (totals, exceptions, on_host, every_operator)
    return HEAD + "".join(part(coverage) for part in parts).rstrip() + "\n"
