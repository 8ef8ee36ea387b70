"""SPYRE_CLOCK=off: the same results, and no modelled time that could be taken for one."""

from __future__ import annotations

import json

import pytest

PROGRAM = """
import json, torch
start, end = torch.spyre.Event(enable_timing=True), torch.spyre.Event(enable_timing=True)
torch.manual_seed(0)
start.record()
x = torch.randn(64, 64, device="spyre")
y = torch.softmax(x @ x, -1).sum(0)
end.record()
result = y.cpu().tolist()
end.synchronize()
"""


@pytest.fixture(scope="module")
def expected(run_python):
    return json.loads(run_python(PROGRAM + "print(json.dumps(result))").stdout)


def test_results_are_the_same_bits(run_python, expected):
    child = run_python(PROGRAM + "print(json.dumps(result))", SPYRE_CLOCK="off")
    assert json.loads(child.stdout) == expected


@pytest.mark.parametrize(
    "question",
    ["start.elapsed_time(end)", "torch.spyre.timeline('unused.json').__enter__()", "torch.spyre.what_if(cores=1)"],
)
def test_asking_for_modelled_time_says_what_to_do(run_python, question):
    code = f"""
try:
    print({question})
except (RuntimeError, ValueError) as error:
    print(error)
"""
    said = run_python(PROGRAM + code, SPYRE_CLOCK="off").stdout
    assert "SPYRE_CLOCK=virtual" in said


def test_this_hosts_time_is_told_in_both_modes(run_python):
    code = "print(start.wall_elapsed_time(end), torch.spyre.stats()['modelled_ns'])"
    for mode in ("off", "virtual"):
        wall, modelled = map(float, run_python(PROGRAM + code, SPYRE_CLOCK=mode).stdout.split())
        assert wall > 0
        assert (modelled > 0) == (mode == "virtual")


def test_a_profile_has_the_hosts_rows_only(run_python):
    code = """
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
    (torch.ones(4, device="spyre") + 1).cpu()
events = profiled.events()
kinds = {e.name: str(e.device_type) for e in events}
print(json.dumps(["aten::add" in kinds, sorted(set(kinds.values()))]))
"""
    host, device = json.loads(run_python(PROGRAM + code, SPYRE_CLOCK="off").stdout)
    assert host
    assert device == ["DeviceType.CPU"]


def test_copies_between_cards_need_no_time(run_python):
    code = """
import torch
x = (torch.arange(1000.0, device="spyre:0") * 2).to("spyre:1") + 1
print(x.to("spyre:0").sum().item(), torch.spyre.stats(1)["modelled_ns"])
"""
    assert run_python(code, SPYRE_CLOCK="off", AIU_WORLD_SIZE="2").stdout.split() == ["1000000.0", "0"]
