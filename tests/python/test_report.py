"""Reports of the modelled time, and what-if."""

from __future__ import annotations

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
