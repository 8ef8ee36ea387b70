"""torch.profiler: the card's rows, the calls behind them, and the operators that they belong to."""

from __future__ import annotations

import json
import re

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
KERNEL = re.compile(r"spyre_kernel_v1_(?P<ops>.+)_(?P<program>[A-Z2-7]{16})#(?P<step>\d+)")
ON_CARD = torch._C._autograd.DeviceType.PrivateUse1


def run_something() -> None:
    x = torch.ones(64, 48).to("spyre")
    (x @ x.t()).relu().sum().item()
    torch.zeros(4096, device="spyre").cpu()


@pytest.fixture(scope="module")
def profiled():
    with profile(activities=BOTH) as recorded:
        run_something()
    return recorded


@pytest.fixture(scope="module")
def trace(profiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "trace.json"
    profiled.export_chrome_trace(str(path))
    return json.loads(path.read_text())["traceEvents"]


def device_rows(recorded):
    return [event for event in recorded.events() if event.device_type == ON_CARD]


def test_kernels_copies_and_fills_are_rows_of_the_device(profiled):
    names = {event.name for event in device_rows(profiled)}
    assert {"Memcpy (HtoD)", "Memcpy (DtoH)", "Memset (Device)"} <= names
    kernels = [KERNEL.fullmatch(name) for name in names if name.startswith("spyre_kernel")]
    operations = " ".join(kernel["ops"] for kernel in kernels)
    assert all(name in operations for name in ("mm", "relu", "sum"))


def test_calls_of_the_runtime_are_rows_of_the_host(profiled):
    calls = {event.name for event in profiled.events() if event.device_type != ON_CARD}
    assert calls >= {
        "aiuLaunchComputeStream",
        "aiuLaunchDMIControlBlocks",
        "aiuLaunchDMOControlBlocks",
        "aiuIssueCallback",
        "host::synchronize",
    }


def test_a_row_belongs_to_the_operator_that_recorded_it(profiled):
    """And not to the one that waited: item() has its own copy, and the product's kernel is the product's."""
    owners = {kernel.name: event.name for event in profiled.events() for kernel in event.kernels}
    product = next(name for name in owners if "mm" in name)
    assert owners[product] == "aten::mm"
    assert owners["Memset (Device)"] == "aten::zero_"
    item = next(event for event in profiled.events() if event.name == "aten::_local_scalar_dense")
    assert any(kernel.name == "Memcpy (DtoH)" for kernel in item.kernels)


def test_device_time_is_the_modelled_time():
    with torch.spyre.timeline() as events, profile(activities=BOTH) as recorded:
        x = torch.ones(256, 256, device="spyre")
        (x @ x).cpu()
    modelled = [e["dur"] for e in events if e["ph"] == "X" and e["pid"] == 1 and e["tid"] == 3]
    rows = [e for e in device_rows(recorded) if KERNEL.fullmatch(e.name) or e.name.startswith("Memset")]
    assert [row.time_range.elapsed_us() for row in rows] == pytest.approx(modelled, abs=0.0011)
    averages = {row.key: row for row in recorded.key_averages()}
    kernel = next(row for row in rows if "mm" in row.name)
    assert averages["aten::mm"].self_device_time_total == pytest.approx(kernel.time_range.elapsed_us(), abs=0.0011)


def test_a_chrome_trace_has_arrows_from_calls_to_rows(trace):
    begins = {e["id"]: e for e in trace if e.get("cat") == "ac2g" and e["ph"] == "s"}
    ends = {e["id"]: e for e in trace if e.get("cat") == "ac2g" and e["ph"] == "f"}
    assert begins
    assert begins.keys() == ends.keys()
    rows = [e for e in trace if e.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset"}]
    assert len(rows) == len(ends)
    assert {e["args"]["correlation"] for e in rows} == ends.keys()
    assert all(e["pid"] == 0 and e["args"]["queued"] <= e["args"]["submitted"] for e in rows)


def test_backward_has_rows():
    weight = torch.ones(32, 32, device="spyre", requires_grad=True)
    with profile(activities=BOTH) as recorded:
        (weight @ weight).sum().backward()
        weight.grad.cpu()
    owners = {event.name for event in recorded.events() if event.kernels}
    assert {"aten::mm", "aten::sum"} & owners
    assert all(event.linked_correlation_id for event in device_rows(recorded) if KERNEL.fullmatch(event.name))


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_every_active_cycle_of_a_schedule_has_its_rows():
    found = []
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
    ready = lambda recorded: found.append(len(device_rows(recorded)))  # noqa: E731
    with profile(activities=BOTH, schedule=schedule, on_trace_ready=ready) as recorded:
        for _ in range(6):
            torch.ones(16, device="spyre").add(1).sum().item()
            recorded.step()
    assert len(found) == 2
    assert found[0] == found[1] > 0


def test_a_fault_still_names_its_line():
    def pick(x):
        return x[torch.tensor([7], device="spyre")]

    with profile(activities=BOTH), pytest.raises(IndexError, match=r"test_profiler\.py:\d+ in pick"):
        pick(torch.ones(3, device="spyre")).cpu()


def test_a_profile_of_the_host_alone_has_no_rows():
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        run_something()
    assert device_rows(recorded) == []
    assert not any(event.name.startswith("aiu") for event in recorded.events())


FIRST_USE = """
import torch
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recorded:
    (torch.ones(8, device="spyre") * 2 + 1).relu().sum().item()
print(sorted({e.name for e in recorded.events() if e.name.startswith(("spyre_kernel", "Mem"))}))
"""


def test_the_first_use_may_lie_inside_and_names_are_the_same_anywhere(run_python):
    reference = run_python(FIRST_USE)
    assert reference.returncode == 0, reference.stderr
    assert "spyre_kernel_v1_" in reference.stdout
    for environment in ({"SENCORES": "3"}, {"SPYRE_EXEC": "scalar"}, {"SPYRE_ISA": "avx2"}):
        assert run_python(FIRST_USE, **environment).stdout == reference.stdout, environment
