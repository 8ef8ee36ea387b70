"""Conventions that a compiler does not check and a reviewer would tire of."""

from __future__ import annotations

import re
from pathlib import Path

from .tree import ROOT, cpp_files, includes, python_files, shown, tracked_files, without_comments

TEXT = [p for p in tracked_files() if p.suffix not in {".png", ".ico", ".json"} and p.name != "LICENSE"]
# This file names what it forbids.
SELF = ROOT / "tests" / "architecture" / "test_conventions.py"

FIRST_LINE = re.compile(r"^// (?:spyre/|python/csrc/)([\w/]+)\.(h|cpp) — \S.*")


def test_first_lines_name_the_file_and_what_it_is():
    wrong = []
    for path in cpp_files():
        first = path.read_text().split("\n", 1)[0]
        match = FIRST_LINE.match(first)
        if not match or not f"{match[1]}.{match[2]}".endswith(path.name):
            wrong.append(f"{shown(path)}: {first}")
    assert wrong == []


def headers() -> list[tuple[str, str]]:
    return [(shown(p), without_comments(p.read_text())) for p in cpp_files() if p.suffix == ".h"]


def test_headers_are_included_once():
    assert [name for name, code in headers() if "#pragma once" not in code] == []


def test_headers_define_no_macros():
    allowed = {"base/include/spyre/base/thread_annotations.h"}
    macros = [name for name, code in headers() if re.search(r"^\s*#\s*define", code, re.MULTILINE)]
    assert set(macros) <= allowed


def test_headers_open_no_namespace_for_others():
    opened = [name for name, code in headers() if re.search(r"^using namespace", code, re.MULTILINE)]
    assert opened == []


def test_the_environment_is_read_in_one_place():
    readers = [shown(p) for p in cpp_files() if re.search(r"\bgetenv\s*\(", without_comments(p.read_text()))]
    assert [name for name in readers if not name.endswith("_test.cpp")] == ["base/src/env.cpp"]


def offenders(pattern: str) -> list[str]:
    found = []
    for path in TEXT:
        if path == SELF:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(pattern, line):
                found.append(f"{shown(path)}:{number}: {line.strip()[:80]}")
    return found


def test_no_machine_paths():
    assert offenders(r"/work/(main|shared)|/root/|/home/\w|/opt/\w|/tmp/team") == []


def test_no_registry_hosts():
    assert offenders(r"(?i)pypi\.org|pythonhosted|download\.pytorch|deb\.debian\.org|registry\.npmjs") == []


def test_nothing_is_left_to_do():
    assert offenders(r"\b(TODO|FIXME|XXX|HACK)\b") == []


# header -> the tested unit that it works behind
TESTED_THROUGH = {
    "lazy/include/spyre/lazy/graph_builder.h": "pipeline.h",
    "lazy/include/spyre/lazy/verify.h": "pipeline.h",
}


def reached_by_tests() -> set[str]:
    """Headers that a unit test includes, itself or through others."""
    headers = {target_of(p): p for p in cpp_files() if p.suffix == ".h"}
    waiting = [p for p in cpp_files() if p.stem.endswith("_test")]
    reached: set[str] = set()
    while waiting:
        for target in set(includes(waiting.pop())) - reached:
            reached.add(target)
            if target in headers:
                waiting.append(headers[target])
    return reached


def target_of(header: Path) -> str:
    """How the header is written in an #include: below its include root, or by its bare name."""
    parts = header.parts
    return "/".join(parts[parts.index("include") + 1 :]) if "include" in parts else header.name


def test_public_units_of_the_torch_free_layers_are_reached_by_tests():
    """Headers of templates and of op rows have no unit of their own: what uses them is tested."""
    reached = reached_by_tests()
    unreached = []
    for layer in ("base", "device_sim", "kernels", "lazy"):
        units = [h for h in cpp_files(f"{layer}/include") if (ROOT / layer / "src" / f"{h.stem}.cpp").exists()]
        unreached += [shown(header) for header in units if target_of(header) not in reached]
    assert [name for name in unreached if name not in TESTED_THROUGH] == []


def test_python_files_say_what_they_are():
    silent = [
        shown(p)
        for p in python_files()
        if p.suffix == ".py" and p.read_text().strip() and not re.match(r'(#![^\n]*\n)?(r?""")', p.read_text())
    ]
    assert silent == []
