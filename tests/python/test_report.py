"""Reports of the modelled time, and what-if."""

from __future__ import annotations

import html.parser
import json

import pytest
import torch
from torch_spyre import _C


@pytest.fixture(scope="module")
def recorded():
    with torch.spyre.timeline() as events:
        x = torch.ones(512, 512, device="spyre")
        (x @ x).relu().cpu()
    return events


@pytest.mark.usefixtures("recorded")
def test_a_report_names_kernels_rules_and_sources():
    report = torch.spyre.report()
    product = next(row for row in report["kernels"] if "mm" in row["name"])
    assert product["macs"] == 512**3
    assert 1 <= product["cores"] <= 32
    assert product["mark"] in {"S", "M", "E"}
    assert report["pipelines"]["D2H"]["bytes"] == 512 * 512 * 4
    assert report["modelled_us"] > 0


@pytest.mark.usefixtures("recorded")
def test_what_if_prices_the_same_run_on_another_card():
    own = torch.spyre.report()
    assert torch.spyre.report(what_if={"memory_gb_per_s": own["device"]["memory_gb_per_s"]}) == own
    slow = torch.spyre.report(what_if={"memory_gb_per_s": 1.0})
    assert slow["modelled_us"] > own["modelled_us"]
    assert torch.spyre.report(what_if={"profile": "datasheet"})["profile"] == "datasheet"
    with pytest.raises((ValueError, RuntimeError), match="unknown key"):
        torch.spyre.report(what_if={"core": 3})


def test_every_modelled_slice_says_what_bounds_it(recorded):
    slices = [e for e in recorded if e["ph"] == "X" and e["pid"] == 1 and e["tid"] != 0]
    assert slices
    assert all(e["args"]["bound"] and e["args"]["rule"] for e in slices)
    detailed = json.loads(_C.timeline_json(core_lanes=True))["traceEvents"]
    lanes = {e["tid"] for e in detailed if e["ph"] == "X"}
    assert {100, 131} <= lanes


@pytest.mark.usefixtures("recorded")
def test_what_if_takes_fields_by_name():
    assert torch.spyre.what_if(cores=8) == torch.spyre.report(what_if={"cores": 8})
    times = [torch.spyre.what_if(cores=cores)["modelled_us"] for cores in (1, 8, 32)]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]
    assert torch.spyre.report()["modelled_us"] == times[-1]


def test_pricing_again_runs_nothing(recorded):
    before = torch.spyre.stats()
    torch.spyre.what_if(profile="datasheet")
    after = torch.spyre.stats()
    assert (after["computes"], after["modelled_ns"]) == (before["computes"], before["modelled_ns"])
    assert recorded


@pytest.mark.usefixtures("recorded")
def test_the_text_has_a_line_per_kernel_and_pipeline():
    report = torch.spyre.report()
    head, _, table = str(report).partition("\n\n")
    assert len(head.splitlines()) == 1 + len(report["pipelines"])
    rows = table.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [kernel["name"] for kernel in report["kernels"]]
    assert f"{report['kernels'][0]['total_us']:.2f}" in rows[0]


class Page(html.parser.HTMLParser):
    """Which elements a page has, that those which must be closed are, and that it refers to nothing outside."""

    VOID = frozenset({"meta", "line", "path", "polyline"})  # here: written without an end tag

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert not {"href", "src"} & {name for name, _ in attrs}
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.usefixtures("recorded")
def test_the_page_is_whole_and_self_contained():
    report = torch.spyre.report()
    report["kernels"][0]["name"] = "<script>&"
    page = Page()
    page.feed(report.html())
    page.close()
    assert page.open == []
    assert "script" not in page.seen
    assert page.seen.count("tr") == 1 + len(report["kernels"])
    lanes = [p for p in report["pipelines"].values() if p["operations"]]
    assert page.seen.count("rect") == sum(len(p["load"]) for p in lanes) > 0
    assert page.seen.count("circle") == sum(kernel["roof_gops"] > 0 for kernel in report["kernels"]) > 0


@pytest.mark.usefixtures("recorded")
def test_the_load_over_time_adds_up_to_the_busy_time():
    report = torch.spyre.report()
    for name in ("H2D", "D2H", "COMPUTE"):
        pipeline = report["pipelines"][name]
        part = report["modelled_us"] / len(pipeline["load"])
        assert sum(pipeline["load"]) / 100 * part == pytest.approx(pipeline["busy_us"], abs=0.01 * part * 60)


@pytest.mark.usefixtures("recorded")
def test_fields_survive_json():
    report = torch.spyre.report()
    assert json.loads(json.dumps(report)) == report
