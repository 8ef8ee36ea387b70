"""Several cards in one process: what the environment chooses, and everything of check_*.py with three cards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("check_*.py")))
def test_with_three_cards(name):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(HERE / name)]
    environment = {**os.environ, "AIU_WORLD_SIZE": "3", "SPYRE_DEVICE_MEMORY": "256MiB"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


ASKED = (
    "import torch; first = torch.spyre.current_device(); "
    "print(torch.spyre.device_count(), torch.accelerator.device_count(), first, torch.spyre.is_initialized()); "
    "print(torch.ones(1, device='spyre').device, [torch.spyre.get_device_properties(i).card "
    "for i in range(torch.spyre.device_count())])"
)


@pytest.mark.parametrize(
    ("environment", "counted", "used"),
    [
        ({}, "1 1 0 False", "spyre:0 [0]"),
        ({"LOCAL_RANK": "3"}, "1 1 0 False", "spyre:0 [0]"),
        ({"AIU_WORLD_SIZE": "3"}, "3 3 0 False", "spyre:0 [0, 1, 2]"),
        ({"AIU_WORLD_SIZE": "3", "LOCAL_RANK": "2"}, "3 3 2 False", "spyre:2 [0, 1, 2]"),
        ({"AIU_WORLD_SIZE": "3", "SPYRE_DEVICES": "2,0,2"}, "2 2 0 False", "spyre:0 [2, 0]"),
        ({"AIU_WORLD_SIZE": "4", "FLEX_DEVICE": "MOCK"}, "4 4 0 False", "spyre:0 [0, 1, 2, 3]"),
    ],
)
def test_the_environment_chooses(run_python, environment, counted, used):
    child = run_python(ASKED, **{"AIU_WORLD_SIZE": "", "LOCAL_RANK": "", **environment})
    assert child.stdout.splitlines() == [counted, used], child.stderr


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"AIU_WORLD_SIZE": "0"}, 'AIU_WORLD_SIZE: out of range; got "0"; expected 1..64; try AIU_WORLD_SIZE=2'),
        (
            {"SPYRE_DEVICES": "1"},
            "SPYRE_DEVICES: got 1; this machine has 1 card(s), numbered from 0; try AIU_WORLD_SIZE=2",
        ),
        ({"AIU_WORLD_SIZE": "2", "LOCAL_RANK": "2"}, "LOCAL_RANK: got 2; this process sees 2 card(s)"),
    ],
)
@pytest.mark.parametrize("use", ["torch.ones(1, device='spyre')", "torch.spyre.device_count()"])
def test_bad_values_say_what_to_do(run_python, environment, told, use):
    child = run_python(f"import torch; torch.accelerator.device_count(); {use}", **environment)
    assert child.returncode == 1
    assert "ValueError" in child.stderr
    assert told in child.stderr


def test_cards_share_the_machines_memory(run_python):
    code = "import torch; print([torch.spyre.mem_get_info(i)[1] for i in range(torch.spyre.device_count())])"
    one, two = (json.loads(run_python(code, AIU_WORLD_SIZE=n, SPYRE_DEVICE_MEMORY="").stdout) for n in ("1", "2"))
    assert two == [two[0], two[0]]
    assert abs(one[0] - sum(two)) <= 1 << 22


PROGRAM = """
import json, tempfile, torch
torch.manual_seed(0)
path = tempfile.mktemp()
with torch.spyre.timeline(path):
    x = torch.ones(300, 200).to("spyre:0")
    w = torch.ones(200, 200).to("spyre:1")
    for step in range(5):
        y = torch.softmax(x * 1.1 + step, 1).to("spyre:1") @ w
        x = (y + torch.rand(300, 200, device="spyre:1")).to("spyre:0")
        if step == 2:
            x.sum().item()
    x.cpu()
events = json.load(open(path))["traceEvents"]
wall = {e["pid"] for e in events if e["name"] == "process_name" and "this host" in e["args"]["name"]}
rows = [e for e in events if e["pid"] not in wall]
print(json.dumps(rows, sort_keys=True))
"""


def test_the_modelled_timeline_is_the_same_on_any_host(run_python):
    def rows(**environment: str) -> str:
        child = run_python(PROGRAM, AIU_WORLD_SIZE="2", **environment)
        assert child.returncode == 0, child.stderr
        return child.stdout

    reference = rows()
    events = json.loads(reference)
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {"modelled card, spyre:0", "modelled card, spyre:1"}
    sent = [(e["ts"], e["dur"]) for e in events if e["name"] == "send" and e.get("tid") == 2]
    received = [(e["ts"], e["dur"]) for e in events if e["name"] == "receive" and e.get("tid") == 1]
    assert len(sent) == 10
    assert sorted(sent) == sorted(received)
    for environment in (
        {"SPYRE_THREADS": "1"},
        {"SPYRE_THREADS": "7"},
        {"SPYRE_EXEC": "scalar"},
        {"SPYRE_EXEC": "null"},
    ):
        assert rows(**environment) == reference, environment
