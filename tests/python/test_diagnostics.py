"""TORCH_SPYRE_FFDC=1: a failure leaves a report, for its owner only; without it, nothing is written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import torch
from torch_spyre import diagnostics

DIVIDE = "import torch; x = torch.ones(3, dtype=torch.int32, device='spyre'); y = x // torch.zeros_like(x)\n"


def reports(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def test_a_device_fault_is_reported(run_python, tmp_path) -> None:
    folder = tmp_path / "deep" / "failures"
    done = run_python(DIVIDE + "y.cpu()", TORCH_SPYRE_FFDC="1", TORCH_SPYRE_FFDC_DIR=str(folder), SPYRE_MAX_NODES="77")
    assert "ZeroDivisionError" in done.stderr
    (report,) = reports(folder)
    assert report["version"] == 1
    assert report["category"] == "runtime_launch"
    assert "ZeroDivisionError" in report["message"]
    assert report["settings"]["max_nodes"] == 77
    assert report["environment"]["SPYRE_MAX_NODES"] == "77"
    assert report["versions"]["torch"] == torch.__version__
    assert report["stats"]["dispatches"] > 0
    assert report["memory"]
    assert any("y.cpu()" in line or "<string>" in line for line in report["stack"])
    (path,) = folder.glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("program", "environment", "categories"),
    [
        (
            "import torch; x = torch.eye(2, device='spyre'); torch.linalg.lstsq(x, x, driver='gelsd')",
            {"SPYRE_FALLBACK": "error"},
            ["unimplemented"],
        ),
        (
            "import torch; torch.empty(2**40, device='spyre').fill_(1).cpu()",
            {"SPYRE_MAX_PENDING": "1TiB"},
            ["runtime_launch"],
        ),
        ("import torch; torch.ones(2, device='spyre') + torch.ones(3, device='spyre')", {}, []),
        (DIVIDE + "y.cpu()", {"TORCH_SPYRE_FFDC": "0"}, []),
    ],
    ids=["unimplemented", "out of memory", "a caller's error", "switched off"],
)
def test_categories(run_python, tmp_path, program, environment, categories) -> None:
    environment = {"TORCH_SPYRE_FFDC": "1", "TORCH_SPYRE_FFDC_DIR": str(tmp_path), **environment}
    assert run_python(program, **environment).returncode == 1
    assert [report["category"] for report in reports(tmp_path)] == categories


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TORCH_SPYRE_FFDC_DIR", str(tmp_path))
    return tmp_path


def test_the_last_fifty_are_kept(folder) -> None:
    (folder / "notes.txt").touch()
    for number in range(53):
        diagnostics.report_failure("runtime_launch", "Error", str(number))
    assert sorted(int(report["message"]) for report in reports(folder)) == list(range(3, 53))
    assert diagnostics.failure_reports() == sorted(folder.glob("*.json"))
    assert (folder / "notes.txt").exists()
    with pytest.raises(ValueError, match="a failure is one of"):
        diagnostics.report_failure("other", "Error", "")


def test_the_folder_has_to_be_ours(folder, monkeypatch) -> None:
    (folder / "link").symlink_to(folder)
    monkeypatch.setenv("TORCH_SPYRE_FFDC_DIR", str(folder / "link"))
    with pytest.raises(PermissionError, match="no folder of this user"):
        diagnostics.report_failure("runtime_launch", "Error", "")


def test_a_folder_that_cannot_be_written_hides_no_failure(run_python, tmp_path) -> None:
    (tmp_path / "file").touch()
    done = run_python(DIVIDE + "y.cpu()", TORCH_SPYRE_FFDC="1", TORCH_SPYRE_FFDC_DIR=str(tmp_path / "file"))
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_the_diagnostic_report_is_json_and_says_what_there_is(folder) -> None:
    path = diagnostics.report_failure("unimplemented", "Error", "an example")
    report = torch.spyre.get_diagnostic_report()
    assert json.loads(json.dumps(report)) == report
    assert report["failure_reports"] == [str(path)]
    assert {"device_spec", "settings", "stats", "memory", "environment", "versions"} < report.keys()
    assert report["environment"]["TORCH_SPYRE_FFDC_DIR"] == os.fspath(folder)
