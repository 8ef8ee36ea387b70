"""Documentation that is said in the code already is generated from it, and fresh; code shown in the README runs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from .tree import ROOT, shown, tracked_files

PAGES = [p for p in tracked_files() if p.suffix == ".md"]
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_generated_parts_are_fresh():
    command = [sys.executable, "tools/generate_docs.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run `make docs`: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page):
    targets = [t for t in LINK.findall(page.read_text()) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_the_readme_example_runs(run_python):
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    assert len(example.splitlines()) <= 25
    child = run_python(example)
    assert child.returncode == 0, child.stderr


def test_decisions_are_numbered_and_listed():
    pages = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    index = (ROOT / "docs" / "adr" / "index.md").read_text()
    assert [int(p.name[:4]) for p in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text()
        assert page.name in index
        for part in ("**Context.**", "**Decision.**", "**Consequences.**", "**What would change our mind.**"):
            assert part in text, f"{page.name}: {part}"
