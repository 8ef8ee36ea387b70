"""What a person sees: the pages of reports and of benchmarks, as a browser lays them out."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.page import page as benchmark_page

ROOT = Path(__file__).resolve().parent.parent.parent
# Shapes of a picture that stick out of it, by more than the width of a line, and words that do.
OUTSIDE = """() => [...document.querySelectorAll("svg")].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("rect, circle, polyline, path, text")].filter(shape => {
    const box = shape.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(shape => shape.outerHTML);
})"""
COUNTS = """() => Object.fromEntries(["svg", "table", "tr", "rect", "circle", "text", "script", "img", "link"]
  .map(name => [name, document.querySelectorAll(name).length]))"""
WIDTHS = "() => [document.documentElement.scrollWidth, innerWidth]"
LOADED = "() => performance.getEntriesByType('resource').map(entry => entry.name)"


@pytest.fixture(scope="module")
def report():
    with torch.spyre.timeline():
        x = torch.randn(256, 256, device="spyre")
        for _ in range(3):
            x = torch.softmax(x @ x, dim=-1)
            x = torch.nn.functional.gelu(x).sum(0) + x
        x.cpu()
    return torch.spyre.report()


@pytest.fixture(scope="module")
def page(report):
    hostile = copy.deepcopy(report)
    hostile["kernels"][0]["name"] = "</table><script>document.title='owned'</script><img src=x>"
    return hostile.html()


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """Of a run of one tiny row."""
    file = tmp_path_factory.mktemp("run") / "run.json"
    words = ["--quick", "--tiny", "--peers", "eager", "--only", "^softmax, ATen, 8192 x 1024 float32", f"--json={file}"]
    subprocess.run([sys.executable, "-m", "benchmarks", *words], cwd=ROOT, check=True, timeout=500)
    return json.loads(file.read_text())


def test_a_browser_finds_what_the_report_holds(ask, report, page):
    counts = ask(page, COUNTS)
    assert counts["tr"] == 1 + len(report["kernels"])
    assert counts["circle"] == sum(kernel["roof_gops"] > 0 for kernel in report["kernels"]) > 0
    assert counts["svg"] == 2
    assert counts["rect"] > 0
    assert counts["script"] == 1, "the question's own"
    assert counts["img"] == counts["link"] == 0
    assert ask(page, "() => document.title") == "Modelled time"


def test_a_page_loads_nothing(ask, page):
    assert ask(page, LOADED) == []


def test_nothing_is_drawn_outside_its_picture(ask, page):
    assert ask(page, OUTSIDE) == []


@pytest.mark.parametrize("width", [1600, 1024])
def test_the_page_fits_its_window(ask, page, width):
    needed, given = ask(page, WIDTHS, width)
    assert needed <= given


def test_the_fields_can_be_opened_and_are_the_report(ask, report):
    opened = (
        "() => { const d = document.querySelector('details'); d.open = true; return d.querySelector('pre').innerText }"
    )
    assert json.loads(ask(report.html(), opened)) == report


def test_shapes_tell_what_they_are_when_pointed_at(ask, page):
    """Names are in title elements, which a browser shows beside the pointer."""
    titles = "() => [...document.querySelectorAll('circle')].map(c => c.querySelector('title')?.textContent ?? '')"
    assert all(ask(page, titles))


def test_the_page_of_benchmarks(ask, document):
    shown = benchmark_page(document)
    counts = ask(shown, COUNTS)
    gates = sum(len(result["verdicts"]) for result in document["results"])
    assert counts["table"] == 3
    assert counts["tr"] >= 3 + len(document["results"]) + gates
    assert ask(shown, LOADED) == []
    assert ask(shown, OUTSIDE) == []
