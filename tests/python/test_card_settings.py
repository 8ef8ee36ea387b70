"""Settings of the card that upstream's programs know: depths, planning, streams, logs."""

from __future__ import annotations

import json

import pytest
import torch

LAUNCHES = """
import json, torch
torch.manual_seed(0)
w = torch.randn(2048, 2048, dtype=torch.float16, device="spyre") / 45  # a product keeps its size
torch.spyre.synchronize()
with torch.spyre.timeline("{path}"):
    x = w
    for _ in range(12):
        x = x @ w
        torch.spyre.Event().record()
    torch.spyre.synchronize()
report = torch.spyre.report()
print(json.dumps([report["modelled_us"], report["pipelines"]["COMPUTE"]["idle_us"], x.sum().item()]))
"""


def test_a_deeper_ring_of_arguments_hides_their_way(run_python, tmp_path):
    runs = {}
    for depth in ("1", "2", "8"):
        child = run_python(LAUNCHES.format(path=tmp_path / "t.json"), SPYRE_CORRECTION_ARENA_DEPTH=depth)
        assert child.returncode == 0, child.stderr
        runs[depth] = json.loads(child.stdout)
    assert runs["2"][0] < runs["1"][0]
    assert runs["8"][0] <= runs["2"][0]
    hidden = runs["1"][1] - runs["2"][1]
    assert hidden > 11 * 5 - 1e-6  # of eleven launches, five microseconds of a callback at least
    assert runs["1"][2] == runs["2"][2] == runs["8"][2]


def test_without_scratchpads_what_kernels_pass_on_costs_memory_time(tmp_path):
    x = torch.ones(512, 4096, dtype=torch.float16, device="spyre")
    torch.spyre.synchronize()
    with torch.spyre.timeline(tmp_path / "t.json"):
        (x * 2).exp().sin().cpu()
    planned, unplanned = torch.spyre.report(), torch.spyre.what_if(scratchpad_planning=0)
    assert unplanned["modelled_us"] > planned["modelled_us"]
    for way in ("bytes_read", "bytes_written"):
        assert planned["compute"][way] == x.nbytes
        assert unplanned["compute"][way] == 3 * x.nbytes  # and the results of two operations


@pytest.mark.parametrize(("size", "padding"), [((1000, 3), 1000 * (128 - 12)), ((4, 64), 0), ((70,), 128 * 3 - 280)])
def test_what_fills_up_sticks_is_reported(tmp_path, size, padding):
    x = torch.ones(size, device="spyre")
    torch.spyre.synchronize()
    with torch.spyre.timeline(tmp_path / "t.json"):
        y = x.neg()
        torch.spyre.synchronize()
    compute = torch.spyre.report()["compute"]
    assert compute["padding_bytes"] == 2 * padding  # read and written
    assert compute["bytes_read"] == y.nbytes + padding


def test_rows_that_a_kernel_keeps_are_in_scratchpads(tmp_path):
    x = torch.randn(64, 1024).to("spyre")
    with torch.spyre.timeline(tmp_path / "t.json"):
        torch.softmax(x.exp(), -1).cpu()
    assert max(kernel["scratchpad_peak"] for kernel in torch.spyre.report()["kernels"]) > 0


def test_the_number_of_the_hosts_streams(run_python):
    program = "import torch; print(sorted({torch.spyre.host_compute_stream().id for _ in range(9)}))"
    assert run_python(program, TORCH_SPYRE_NUM_HOST_COMPUTE_STREAMS="2").stdout.strip() == "[65, 66]"
    child = run_python(program, TORCH_SPYRE_NUM_HOST_COMPUTE_STREAMS="9")
    assert "1..8" in child.stderr


def test_the_share_of_scratchpads_that_stays_free(run_python):
    program = "import torch; print(torch.spyre.device_spec()['scratchpad_usable'])"
    assert run_python(program, DXP_LX_FRAC_AVAIL="0.2").stdout.strip() == "1625344"
    assert int(run_python(program, DXP_LX_FRAC_AVAIL="0.5").stdout) == 1015808
    assert "from 0 to 1" in run_python(program, DXP_LX_FRAC_AVAIL="2").stderr


def test_logs_under_upstreams_names(run_python, tmp_path):
    program = "import torch; (torch.ones(9, device='spyre') + 1).cpu()"
    assert run_python(program).stderr == ""
    runtime = run_python(program, DT_DEEPRT_VERBOSE="1").stderr
    assert "[spyre launch]" in runtime
    assert "[spyre cache]" not in runtime
    assert "[spyre cache]" in run_python(program, TORCH_SPYRE_DEBUG="1").stderr
    file = tmp_path / "spyre.log"
    child = run_python(program, SPYRE_LOG="launch", SPYRE_LOG_FILE=str(file))
    assert child.stderr == ""
    assert "[spyre launch]" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
