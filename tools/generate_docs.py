#!/usr/bin/env python3
"""Writes the parts of docs/ that are said in the code already: layers, environment variables, ops, layouts, the card.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`. `--check` writes nothing and fails if a
part is stale; a test runs that.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REGION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
LAYER_LINE = re.compile(r"^\s*spyre_layer\((\w+)([^)]*)\)", re.MULTILINE)


def words_after(keyword: str, words: list[str]) -> list[str]:
    """The words between `keyword` and the next keyword of a spyre_layer(...) line."""
    if keyword not in words:
        return []
    rest = words[words.index(keyword) + 1 :]
    stops = [i for i, word in enumerate(rest) if word in {"USES", "LINK"}]
    return rest[: stops[0]] if stops else rest


def layers() -> str:
    """The layers from top to bottom, what each includes, and which foreign library stays behind its wall."""
    rows = []
    for name, rest in LAYER_LINE.findall((ROOT / "CMakeLists.txt").read_text()):
        words = rest.split()
        rows.append((name, ", ".join(words_after("USES", words)), ", ".join(words_after("LINK", words))))
    rows.append(("python", "engine", "pybind11"))
    lines = ["```text"]
    for position, (name, uses, links) in enumerate(reversed(rows)):
        if position:
            lines.append("     |")
        foreign = f"   [{links.replace('spyre::', '').replace('TBB::', '')}]" if links else ""
        lines.append(
            f" {name + '/':<13}{'uses ' + uses if uses else 'uses the standard library':<36}{foreign}".rstrip()
        )
    return "\n".join([*lines, "```\n"])


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def environment() -> str:
    import torch_spyre

    rows = [
        [code(row["name"]), code(row["default"]), code(row["grammar"]), row["meaning"]]
        for row in torch_spyre._C.environment_table()
    ]
    return table(["variable", "default", "grammar", "meaning"], rows)


def bound(ulp: float) -> str:
    return "exact" if ulp <= 0.5 else f"{ulp:g}"


def ops() -> str:
    import torch_spyre

    rows = [
        [
            code(row["name"]),
            ", ".join(code(name) for name in row["aten"].split(";") if name),
            ", ".join(row["computes"]),
            bound(row["max_ulp"]),
            row["doc"],
        ]
        for row in torch_spyre._C.op_table()
    ]
    return table(["op", "PyTorch", "computed in", "error (ulp)", "meaning"], rows)


def example(*arguments: str) -> str:
    """What `python -m torch_spyre.layouts` prints, below the command."""
    from torch_spyre import layouts

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        layouts.main(arguments)
    return f"```text\n$ python -m torch_spyre.layouts {' '.join(arguments)}\n{shown.getvalue()}```\n"


def dtype_formats() -> str:
    """What each torch dtype is on both sides of a transfer."""
    import torch
    from torch_spyre import layouts

    dtypes = ["float16", "bfloat16", "float32", "bool", "int64", "int32", "int16", "int8", "uint8"]
    rows = []
    for name in [*dtypes, "float8_e4m3fn", "float8_e5m2fnuz"]:
        dtype = getattr(torch, name)
        formats = layouts.get_host_dtype(dtype).name, layouts.get_device_dtype(dtype).name
        rows.append([code(name), *map(code, formats), str(layouts.get_elem_in_stick(dtype))])
    return table(["torch dtype", "on the host", "on the card", "elements in a stick"], rows)


def conversions() -> str:
    """To which formats each format converts."""
    from torch_spyre import layouts

    targets: dict[str, list[str]] = {}
    for source, target in layouts.conversions():
        targets.setdefault(source.name, []).append(code(target.name))
    return table(["from", "to"], [[code(source), ", ".join(names)] for source, names in targets.items()])


def either(calibrated: str, datasheet: str) -> str:
    return code(calibrated) if calibrated == datasheet else f"{code(calibrated)} / {code(datasheet)}"


def parameters() -> str:
    import torch_spyre

    rows = [
        [code(row["name"]), either(row["calibrated"], row["datasheet"]), row["unit"], row["mark"], row["source"]]
        for row in torch_spyre._C.device_parameters()
    ]
    return table(["parameter", "calibrated / datasheet", "unit", "mark", "source"], rows)


def rules() -> str:
    import torch_spyre

    rows = [
        [code(row["name"]), code(row["formula"]), row["mark"], row["source"]]
        for row in torch_spyre._C.price_rules()
        if row["name"] != "nothing"
    ]
    return table(["rule", "time", "mark", "source"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "layers": layers,
    "environment": environment,
    "ops": ops,
    "layout_rows": lambda: example("512", "240"),
    "layout_columns": lambda: example("512", "256", "--order", "1,0"),
    "layout_sparse": lambda: example("512", "256", "--order", "0,1,-1"),
    "layout_small": lambda: example("131072", "64", "2", "2"),
    "dtype_formats": dtype_formats,
    "conversions": conversions,
    "parameters": parameters,
    "rules": rules,
}


def refreshed(text: str) -> str:
    return REGION.sub(lambda match: match[1] + PARTS[match[2]]() + match[3], text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for page in sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "HACKING.md"]):
        before = page.read_text()
        after = refreshed(before)
        if after != before:
            stale.append(str(page.relative_to(ROOT)))
            if not check:
                page.write_text(after)
    for name in stale:
        print(f"{'stale' if check else 'wrote'} {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
