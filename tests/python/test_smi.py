"""spyre-smi and torch.spyre.metrics(): the card's meters, read from inside and from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from torch_spyre import metrics, smi

WORKER = """
import sys, torch
x = torch.ones(512, 512, device="spyre")
(x @ x).cpu()
print("ready", flush=True)
sys.stdin.readline()
(x @ x).cpu()
print("again", flush=True)
sys.stdin.readline()
"""


class Worker:
    """A process that uses its card when it is told to."""

    def __init__(self, place) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env={**os.environ, "SPYRE_METRICS": str(place)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.child.stdout.readline() == "ready\n"

    def step(self) -> None:
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        self.child.stdout.readline()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SPYRE_METRICS", str(tmp_path))
    return smi.folder()


def shown(capsys, *arguments: str):
    assert smi.main(arguments) == 0
    return capsys.readouterr().out


def test_a_running_process_is_shown_and_a_killed_one_is_dropped(tmp_path, place, capsys):
    with Worker(tmp_path) as worker:
        [row] = json.loads(shown(capsys, "--once", "--json"))
        assert row["pid"] == worker.child.pid
        assert set(metrics.FIELDS) <= row.keys()
        assert row["actmem"] >= 1
        assert 0 < row["busy"] <= 100
        assert row["rxpci"] >= 0
        assert row["txpci"] > 0
        assert 0 < row["pt_active"] <= row["busy"]
        assert row["pwr"] > 0
        assert (place / str(worker.child.pid)).stat().st_mode & 0o777 == 0o600
        before = smi.read_all(place)
        worker.step()
        [later] = smi.rows(before, smi.read_all(place))
        assert later["txpci"] > 0
        assert later["hostcpu"] >= 0
        table = shown(capsys, "--once")
        assert str(worker.child.pid) in table
        assert "pt_active" in table.splitlines()[0]
    assert shown(capsys, "--once", "--json") == "[]\n"
    assert list(place.iterdir()) == []


def test_a_process_that_ends_takes_its_file_along(tmp_path, place, run_python):
    child = run_python("import torch; torch.ones(1, device='spyre').item()", SPYRE_METRICS=str(tmp_path))
    assert child.returncode == 0, child.stderr
    assert list(place.iterdir()) == []


def test_off_publishes_nothing_and_import_neither(tmp_path, run_python):
    code = "import torch, os; {use}; print(os.listdir(os.environ['PLACE']))"
    use = "torch.ones(1, device='spyre').item()"
    for text, metrics_place in ((code.format(use=use), "off"), (code.format(use="0"), str(tmp_path))):
        child = run_python(text, SPYRE_METRICS=metrics_place, PLACE=str(tmp_path))
        assert child.stdout.strip() == "[]", child.stderr


def test_garbage_in_the_folder_is_left_alone(place, capsys):
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("not ours")
    (place / str(os.getpid())).write_text("{half a hea")
    assert json.loads(shown(capsys, "--once", "--json")) == []
    assert len(list(place.iterdir())) == 2


def test_wrong_usage_is_told():
    with pytest.raises(SystemExit) as ended:
        smi.main(["--interval", "0"])
    assert ended.value.code == 2


def test_metrics_of_this_process_over_a_window():
    torch.ones(1, device="spyre").item()
    before = metrics.meters()
    assert torch.spyre.metrics(since=before)["busy"] == 0
    x = torch.ones(256, 256, device="spyre")
    (x @ x).cpu()
    seen = torch.spyre.metrics(since=before)
    after = metrics.meters()
    elapsed_ns = (after["modelled_ps"] - before["modelled_ps"]) / 1000
    assert seen["txpci"] == pytest.approx(256 * 256 * 4 / elapsed_ns)
    assert seen["pt_active"] > 0
    assert after["macs"] - before["macs"] == 256**3
    assert seen["gtemp"] is None
    assert torch.spyre.metrics()["actmem"] == pytest.approx(after["allocated"] / 2**20)
