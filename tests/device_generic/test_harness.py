"""The harness finds what fails on spyre alone, survives a crash, and knows a test by one name on every device."""

from __future__ import annotations

import subprocess
import sys

import torch

from .__main__ import expected_failures
from .names import test_key
from .runs import ROOT

SUITE = """
import os, torch
from torch.testing._internal.common_utils import TestCase
from torch.testing._internal.common_device_type import (
    deviceCountAtLeast, dtypes, instantiate_device_type_tests, onlyCUDA, skipNobodyKnowsThis
)

class TestThings(TestCase):
    def setUp(self):
        super(TestThings, self).setUp()
    @dtypes(torch.float32)
    def test_good(self, device, dtype):
        self.assertEqual(torch.ones(2, device=device, dtype=dtype).sum(), 2)
    @deviceCountAtLeast(2)
    @onlyCUDA
    def test_two(self, devices):
        self.assertEqual(devices, ["spyre:0", "spyre:1"])
    def test_bad(self, device):
        self.assertEqual(torch.device(device).type, "cpu")
    @skipNobodyKnowsThis
    def test_crash(self, device):
        if torch.device(device).type != "cpu":
            os.abort()
    def test_worse(self, device):
        raise ValueError("everywhere")

class TestEndless(TestCase):
    def setUp(self):
        super(self.__class__, self).setUp()
    def test_fine(self, device):
        pass

class TestOthers(TestCase):
    def test_not_generic(self):
        raise ValueError

instantiate_device_type_tests(TestThings, globals())
instantiate_device_type_tests(TestEndless, globals())
"""


def command(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.device_generic", *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_tells_what_is_new(tmp_path):
    (tmp_path / "test_things.py").write_text(SUITE)
    done = command(str(tmp_path), "test_things.py")
    assert done.returncode == 1, done.stderr
    assert "{'passed': 2, 'failed': 2, 'crashed': 1, 'skipped': 1} on spyre, 2 fail there alone" in done.stdout
    news = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  new:")]
    assert news == [f"test_things.py::TestThings::test_{name}" for name in ("bad", "crash")]


def test_one_test_of_several_has_its_twin_on_cpu(tmp_path):
    """Where CPU has more tests, others are one of N."""
    more = SUITE.replace("dtypes, inst", "dtypes, dtypesIfCPU, inst")
    more = more.replace("    @dtypes", "    @dtypesIfCPU(torch.float32, torch.float64)\n    @dtypes")
    (tmp_path / "test_things.py").write_text(more)
    done = command(str(tmp_path), "test_things.py", "--every", "3", "--first", "2")
    assert "{'crashed': 1, 'failed': 1} on spyre, 1 fail there alone" in done.stdout


def test_tests_of_several_devices_need_no_cpu(tmp_path):
    (tmp_path / "test_things.py").write_text(SUITE)
    done = command(str(tmp_path), "test_things.py", "--cards", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "{'passed': 1} on spyre, 0 fail there alone" in done.stdout


def test_the_command_says_where_the_tests_are(tmp_path):
    done = command(str(tmp_path / "nowhere"), "test_view_ops.py")
    assert done.returncode == 2
    assert "git clone" in done.stderr
    assert torch.__version__.split("+")[0] in done.stderr


def test_names():
    assert test_key("test_x.py::TestXPRIVATEUSE1::test_y_spyre_float32") == "test_x.py::TestX::test_y_float32"
    assert test_key("nn/test_x.py::TestXCPU::test_y_cpu") == "nn/test_x.py::TestX::test_y"


def test_expected_failures_are_names_of_tests():
    assert all(name.count("::") == 2 for name in expected_failures())
